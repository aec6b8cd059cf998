/**
 * Sweep: serialises the leak collector's progress. May import: core, rpc, platform.
 * This is its place only: a tick will drive the audits of a slice of hosts (architecture, collector).
 */
import { DurableObject } from "cloudflare:workers";

/** What a tick did. */
export interface TickAnswer {
  readonly kind: "nothing_to_do";
}

export class SweepObject extends DurableObject<Env> {
  /** Goes on with the sweep where the last tick ended; no host is audited yet. */
  async tick(): Promise<TickAnswer> {
    return { kind: "nothing_to_do" };
  }
}
