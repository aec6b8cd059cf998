/**
 * What an object needs from outside: a clock, the other objects, the constants of its platform.
 * A test passes its own as the third constructor argument; production takes them from env.
 */
import type { Settings } from "../src/core/settings.ts";
import type { EndSignal } from "../src/platform/call.ts";
import type { ClusterSource } from "../src/rpc/cluster-source.ts";
import type { PolicySource } from "../src/rpc/policy-source.ts";
import type { Ports } from "../src/rpc/ports.ts";

export interface Runtime {
  readonly settings: Settings;
  /** Milliseconds since 1970. Read once per event and passed down. */
  now(): number;
  /** Resolves after that many milliseconds; rejects when the signal says so. */
  sleep(ms: number, signal?: EndSignal): Promise<void>;
  /** Lets work go on that others wait for, when the event that began it is over; absent: nothing stops it. */
  keep?(pending: Promise<unknown>): void;
  /** A name that no other call returns. */
  unique(): string;
  readonly ports: Ports;
  /** The policy under this process's or this object's lease. */
  readonly policy: PolicySource;
  /** The cluster whose nodes the hosts are; absent: no cluster is asked. */
  readonly cluster?: ClusterSource;
}
