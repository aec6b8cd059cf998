/**
 * Tells the Pool which addresses of a block others than its owner hold, until the Pool has heard it.
 * May import: core, rpc, platform. Rule: a version that is not acknowledged is owed, after a wake too.
 */
import type { BlockDraft, BlockHeader } from "../src/core/block.ts";
import { borrowedAddresses } from "../src/core/block-routes.ts";
import { callIdempotent } from "../src/platform/call.ts";
import type { Runtime } from "./runtime.ts";

/** Versions told in a row; what changes after that is told by the alarm. */
const ROUNDS_MAX = 64;

export class BlockLending {
  readonly #runtime: Runtime;
  #told: number | undefined;
  #isTelling = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Whether the Pool may not know the set as it is now. */
  owes(header: BlockHeader | undefined): boolean {
    return header?.borrowedVersion !== undefined && header.borrowedVersion !== this.#told;
  }

  /** Tells the set as it is, and again while it changes meanwhile; never rejects, one message at a time. */
  async tell(read: () => BlockDraft): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const draft = read();
        if (draft.header === undefined || !this.owes(draft.header)) return;
        if (!(await this.#send(draft, draft.header))) return;
      }
    } catch {
      // What could not be read or sent is owed still.
    } finally {
      this.#isTelling = false;
    }
  }

  async #send(draft: BlockDraft, header: BlockHeader): Promise<boolean> {
    const { block, pool, poolCidr: cidr, incarnation, borrowedVersion: version = 0 } = header;
    const addresses = borrowedAddresses(draft);
    const message = { pool, incarnation, cidr, blockSize: draft.cidr.prefix, block, version, addresses };
    const { settings, ports } = this.#runtime;
    const told = await callIdempotent(() => ports.pool(pool, incarnation).borrowed(message), {
      timeoutMs: settings.untilMs + settings.skewMs,
      sleep: (ms, signal) => this.#runtime.sleep(ms, signal),
    });
    if (told.kind !== "answered") return false;
    this.#told = version;
    return true;
  }
}
