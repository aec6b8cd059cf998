/**
 * One block of the in-memory reference: who holds which ordinal, and which is free for longest.
 * May import: core ranges only. Rule: no state machine of the product is used here, on purpose.
 */

import { formatAddress } from "../../src/core/address.ts";
import { addressAt, type Cidr, formatCidr, size } from "../../src/core/cidr.ts";

export type OwnerAttributes = Readonly<Record<string, string>>;

/** The last tenant of an address; it holds it until `releasedAt`. Units: milliseconds. */
export interface Tenure {
  readonly handle: string | undefined;
  readonly host: string;
  active: OwnerAttributes;
  alternate: OwnerAttributes;
  readonly sequenceNumber: number;
  releasedAt?: number;
  /** The block's number at the release: the order in which addresses became free. */
  freedAt?: number;
}

export type SlotState = "free" | "allocated" | "cooling" | "host_reserved";

/** What time it is, and how long a released address stays out of use. Units: milliseconds. */
export interface Clock {
  readonly now: number;
  readonly cooldownMs: number;
}

/** Invariant: every ordinal is in exactly one state (I2); the number only rises (I3). */
export class ModelBlock {
  readonly range: Cidr;
  readonly name: string;
  readonly capacity: number;
  owner: string | undefined;
  claimedAt: number | undefined;
  sequenceNumber: number;
  readonly tenures = new Map<number, Tenure>();
  setAside = { start: 0, end: 0 };

  constructor(range: Cidr, sequenceNumber: number) {
    this.range = range;
    this.name = formatCidr(range);
    this.capacity = Number(size(range));
    this.sequenceNumber = sequenceNumber;
  }

  stateOf(ordinal: number, { now, cooldownMs }: Clock): SlotState {
    const { start, end } = this.setAside;
    if (ordinal < start || ordinal >= this.capacity - end) return "host_reserved";
    const tenure = this.tenures.get(ordinal);
    if (tenure === undefined) return "free";
    if (tenure.releasedAt === undefined) return "allocated";
    return tenure.releasedAt + cooldownMs <= now ? "free" : "cooling";
  }

  /** Ordinals in a state, ascending. */
  ordinals(state: SlotState, clock: Clock): number[] {
    return Array.from({ length: this.capacity }, (_, ordinal) => ordinal).filter(
      (ordinal) => this.stateOf(ordinal, clock) === state,
    );
  }

  /** Free ordinals, the one that is free for longest first; those never used before all others (I12). */
  queue(clock: Clock): number[] {
    const freedAt = (ordinal: number): number => this.tenures.get(ordinal)?.freedAt ?? 0;
    return this.ordinals("free", clock).toSorted(
      (one, other) => freedAt(one) - freedAt(other) || one - other,
    );
  }

  /** Neither allocated nor cooling: what is set aside for the host does not count. */
  isEmpty(clock: Clock): boolean {
    return [...this.tenures.keys()].every((ordinal) => {
      const state = this.stateOf(ordinal, clock);
      return state === "free" || state === "host_reserved";
    });
  }

  /** Gives an ordinal to a tenant. */
  give(ordinal: number, tenant: Pick<Tenure, "handle" | "host" | "active">): Tenure {
    this.sequenceNumber += 1;
    const tenure = { ...tenant, alternate: {}, sequenceNumber: this.sequenceNumber };
    this.tenures.set(ordinal, tenure);
    return tenure;
  }

  /** Ends tenures together: they join the queue in the order of their addresses. */
  take(ordinals: readonly number[], now: number): void {
    this.sequenceNumber += 1;
    for (const ordinal of ordinals) {
      const tenure = this.tenures.get(ordinal);
      if (tenure === undefined) continue;
      tenure.releasedAt = now;
      tenure.freedAt = this.sequenceNumber;
    }
  }

  address(ordinal: number): string {
    return formatAddress(addressAt(this.range, ordinal));
  }
}
