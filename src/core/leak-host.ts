/**
 * Whether a host is there, and what follows when it was lost: what is given up with it.
 * May import: core only. Rule: silence never makes a host gone; only an operator's word or a direct "no" does.
 */

/**
 * What is known of a host.
 * Shape: `generation` rises with every registration anew, and what is decided for one is void for another.
 * `unknown`: its existence could not be looked up, so nothing of it is judged.
 */
export type HostLife =
  | { readonly kind: "active"; readonly generation: number }
  | {
      readonly kind: "gone";
      readonly generation: number;
      /** What was touched later is not covered. Units: milliseconds since 1970. */
      readonly since: number;
      readonly by: "removal" | "kubernetes";
    }
  | { readonly kind: "unknown" };

/** What a cluster said of the node, if a cluster knows hosts at all. Units: milliseconds since 1970. */
export interface NodeSighting {
  /** A complete list of nodes that did not name it, the first since it was last seen. */
  readonly missingSince?: number;
  /** A direct read that did not find it, the last one. */
  readonly notFoundAt?: number;
  /** Seen in a list or by a direct read. */
  readonly seenAt?: number;
  /** The last look-up failed. */
  readonly isUnreadable?: boolean;
}

/** How long after a list without the node a direct read must still not find it, ms. */
export const NODE_LOSS_MS = 60_000;

/**
 * Tells whether a host is there.
 * Why: an agent that reports contradicts a cluster that does not know its node, and then the host lives. Its
 * silence alone says nothing, but a "no" of the cluster that comes long after its last report does.
 */
export function hostLife(
  registration: { readonly generation: number; readonly goneSince?: number },
  sighting: NodeSighting | undefined,
  lastReport: { readonly takenAt: number; readonly staleMs: number } | undefined,
): HostLife {
  const { generation, goneSince } = registration;
  if (goneSince !== undefined) return { kind: "gone", generation, since: goneSince, by: "removal" };
  if (sighting === undefined) return { kind: "active", generation };
  const { missingSince, notFoundAt, seenAt, isUnreadable } = sighting;
  if (isUnreadable === true) return { kind: "unknown" };
  if (missingSince === undefined || notFoundAt === undefined) return { kind: "active", generation };
  const wasSeen = seenAt !== undefined && seenAt >= missingSince;
  const isMissing = !wasSeen && notFoundAt - missingSince >= NODE_LOSS_MS;
  const isReporting = lastReport !== undefined && notFoundAt - lastReport.takenAt <= lastReport.staleMs;
  if (!isMissing || isReporting) return { kind: "active", generation };
  const since = Math.max(missingSince, lastReport?.takenAt ?? missingSince);
  return { kind: "gone", generation, since, by: "kubernetes" };
}

/** One confirmed affinity of a lost host, with what its block holds. */
export interface LostBlock {
  readonly block: string;
  readonly epoch: number;
  /** Allocated to the lost host. */
  readonly own: number;
  /** Allocated to other hosts. */
  readonly lent: number;
  readonly cooling: number;
}

/** `vetoed`: something on the host may live. `waiting`: something is still to be released or to cool. */
export type Teardown =
  | { readonly kind: "vetoed" }
  | {
      readonly kind: "waiting" | "release";
      /** The plan is void once the host has another one. */
      readonly generation: number;
      /** Blocks to give up now, each at its epoch. One with addresses of others loses its owner and stays. */
      readonly blocks: readonly { readonly block: string; readonly epoch: number }[];
    };

/**
 * Plans what a lost host gives up.
 * Why: a block that is lent is given up at once, since others may keep it busy for ever; one that only
 * cools is waited for, so that it comes back empty.
 */
export function planTeardown(
  life: Extract<HostLife, { readonly kind: "gone" }>,
  hasVeto: boolean,
  blocks: readonly LostBlock[],
): Teardown {
  if (hasVeto) return { kind: "vetoed" };
  const isOver = ({ own, lent, cooling }: LostBlock) => own === 0 && (lent > 0 || cooling === 0);
  const over = blocks.filter(isOver).map(({ block, epoch }) => ({ block, epoch }));
  const kind = over.length === blocks.length ? "release" : "waiting";
  return { kind, generation: life.generation, blocks: over };
}
