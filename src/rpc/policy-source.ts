/**
 * Where objects and the Worker take the leased policy from. Types only.
 * Rule: nothing is created under a policy whose lease has run out.
 */
import type { CompiledPolicy } from "../core/policy.ts";

export interface LeasedPolicy {
  readonly policy: CompiledPolicy;
  /** End of the lease by Cluster's clock, milliseconds since 1970. */
  readonly until: number;
}

export interface PolicySource {
  /** The last policy seen, leased or not: good for guessing, never for deciding. */
  peek(): CompiledPolicy | undefined;
  /** The policy whose lease is in hand now, if any; no call is made. */
  held(now: number): LeasedPolicy | undefined;
  /** The leased policy; takes a lease when none is in hand. Absent: Cluster cannot be reached. */
  current(now: number): Promise<LeasedPolicy | undefined>;
  /** A lease taken after this call began, e.g. when a block said `late`. */
  refresh(): Promise<LeasedPolicy | undefined>;
}
