/**
 * Sequence numbers and holders over the whole of a history, whatever becomes of pools and their blocks.
 * May import: the checker's types. Rule: only committed rows count.
 */
import type { Finding, Snapshot } from "../checker.ts";

interface Holder {
  readonly sequenceNumber: number;
  readonly who: string;
}

export class Sequences {
  /** The latest holder of each address. */
  readonly #latest = new Map<string, Holder>();

  /** I1 and I3: one holder at a time; each later one has a higher number, also in another block. */
  check({ blocks }: Snapshot): Finding[] {
    const findings: Finding[] = [];
    const holders = new Map<string, string>();
    for (const { block, held } of blocks) {
      for (const { address, handle, key, sequenceNumber } of held) {
        const other = holders.get(address);
        if (other !== undefined) findings.push(`I1: ${address} is held in ${other} and in ${block}`);
        holders.set(address, block);
        const who = `${block} ${handle} ${key}`;
        const before = this.#latest.get(address);
        if (before?.sequenceNumber === sequenceNumber && before.who === who) continue;
        if (before !== undefined && before.sequenceNumber >= sequenceNumber)
          findings.push(`I3: ${address} has ${sequenceNumber} after ${before.sequenceNumber}`);
        this.#latest.set(address, { sequenceNumber, who });
      }
    }
    return findings;
  }
}
