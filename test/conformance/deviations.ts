/**
 * Where we end a case otherwise than upstream, on purpose: the one table, with what we do instead.
 * May import: the vocabulary. Rule: an entry that a case does not need fails that case.
 */
import type { BackendName } from "./vocabulary.ts";

/** One case, what we answer instead, and why. */
export interface Deviation {
  readonly id: string;
  readonly on: readonly BackendName[];
  readonly reason: string;
  /** What single steps (from 0) are expected to give here, in place of what the case says. */
  readonly steps?: Readonly<Record<number, Readonly<Record<string, unknown>>>>;
  /** The steps after this one make no sense here. */
  readonly endsAfter?: number;
  /** The state the case begins in may not exist here. */
  readonly given?: "refused";
}

const ALL: readonly BackendName[] = ["model", "objects", "http"];
/** What is decided, or can be seen, at the API only. */
const API: readonly BackendName[] = ["objects", "http"];

const failsWith = (kind: string) => ({ error: { kind } });
const exhausted = (...pools: string[]) => ({
  v4: { count: 0, reasons: [{ kind: "poolsExhausted", pools }] },
});

const NO_BAD_SELECTORS = "a pool whose selector cannot be read is refused when it is written";
const AT_ONCE = "a request that the limit can never allow is refused at once (recommended by the case)";
const HANDLES =
  "a handle has no control characters (contract R4): nothing is cut off, nothing compared in part";
const DERIVED =
  "what a handle holds is derived: no count can drift, and nothing held is nothing known (design 6)";
const BY_TIME = "free is derived from time, there is no pass that collects (design 6)";
const SET_ASIDE = "at most 16 addresses are set aside at either end of a block (contract: HostReserved)";
const ANY_POOL =
  "blocks are ensured in any pool that selects the host: no list is taken (contract: ensureBlocks)";
const NUMBERS = "every allocation has a number, the first of a block is 1; nobody enters one (I3)";
const STRICT_HELPS = "strict_affinity is said only where borrowing would have helped (contract 4)";
const DRAINING = "a block without owner is on its way out and is no candidate for borrowing (design 3.3)";
const NO_ORPHANS =
  "a pool stays until its last block is gone, so there are no blocks without a pool (design 3.6)";

const LEAVING =
  "an order to leave is carried out, not taken back: its row may stand beyond the cap (I10); any block may follow";
const NO_TRACE =
  "a confirmed row implies that the block names its owner (I6); a range is looked up in the directory (design 3.2)";

export const DEVIATIONS: readonly Deviation[] = [
  {
    id: "aa-005",
    on: ALL,
    reason: "a request for nothing is invalid: nothing_requested (contract 6)",
    steps: { 0: failsWith("nothingRequested") },
  },
  {
    id: "aa-021",
    on: ALL,
    reason: "all faults of a request are told at once, also of a family that asks for nothing (contract R2)",
    steps: { 0: failsWith("wrongPoolFamily") },
  },
  { id: "aa-045", on: ALL, reason: NO_BAD_SELECTORS, given: "refused" },
  { id: "aa-046", on: ALL, reason: NO_BAD_SELECTORS, given: "refused" },
  { id: "ns-009", on: ALL, reason: NO_BAD_SELECTORS, given: "refused" },
  {
    id: "fq-009",
    on: ALL,
    reason: "own blocks are used in the order of addresses (recommended by the case)",
    steps: {
      2: {
        blocks: [
          { cidr: "10.0.0.0/26", free: [] },
          { cidr: "10.0.0.128/26", allocated: [] },
          { cidr: "10.0.0.192/26", allocated: [] },
          { cidr: "10.0.0.64/26", allocated: ["10.0.0.64"] },
        ],
      },
    },
  },
  {
    id: "sq-003",
    on: API,
    reason: NUMBERS,
    steps: { 0: { released: ["10.0.0.1"] }, 1: { ...failsWith("badSequenceNumber"), released: [] } },
  },
  {
    id: "sq-004",
    on: API,
    reason: NUMBERS,
    steps: { 0: { ...failsWith("badSequenceNumber"), released: [] } },
  },
  {
    id: "sq-005",
    on: ALL,
    reason: "a guarded replay of a release is success (recommended by the case; design 3.10)",
    steps: { 3: { released: ["10.0.0.0"], unallocated: ["10.0.0.0"] } },
  },
  { id: "bo-005", on: ALL, reason: DRAINING, steps: { 3: exhausted("10.0.0.0/28") } },
  {
    id: "bo-006",
    on: ALL,
    reason: `${DRAINING}; ${STRICT_HELPS}`,
    steps: { 2: exhausted("10.0.0.0/28"), 3: exhausted("10.0.0.0/28") },
  },
  { id: "rv-006", on: ALL, reason: STRICT_HELPS, steps: { 0: exhausted("10.0.0.0/24") } },
  {
    id: "hr-001",
    on: ALL,
    reason: STRICT_HELPS,
    steps: {
      0: {
        v4: { count: 240, requested: 256, reasons: [{ kind: "poolsExhausted", pools: ["10.0.0.0/24"] }] },
      },
    },
  },
  {
    id: "as-005",
    on: ALL,
    reason:
      "an assignment to the handle that holds the address is success, with or without limit (contract 3)",
    steps: { 1: {} },
  },
  {
    id: "hc-004",
    on: ALL,
    reason: "reused addresses carry the block's prefix like all others (recommended by the case)",
    steps: { 1: { v4: { ips: ["10.0.0.0"], prefixLen: 26 } } },
  },
  { id: "hc-005", on: ALL, reason: AT_ONCE, steps: { 0: { ...failsWith("handleCapReached"), v4: null } } },
  { id: "hc-007", on: ALL, reason: AT_ONCE, steps: { 1: { ...failsWith("handleCapReached"), v4: null } } },
  { id: "rl-020", on: ALL, reason: HANDLES, given: "refused" },
  {
    id: "rh-007",
    on: ALL,
    reason: HANDLES,
    steps: { 1: failsWith("invalidArgument"), 2: { ips: ["10.0.0.1"] } },
  },
  {
    id: "rl-006",
    on: ALL,
    reason: "each item of a release is judged by itself: the second one finds the address free (design 6)",
    steps: { 1: { released: ["10.0.0.1", "10.0.0.1"], unallocated: ["10.0.0.1"] } },
  },
  {
    id: "rl-022",
    on: ALL,
    reason: "host-reserved addresses are not released by address (recommended by the case)",
    steps: { 1: { ...failsWith("hostReserved"), released: [] }, 2: { state: "allocated" } },
  },
  {
    id: "rl-023",
    on: ALL,
    reason: "addresses are compared as addresses; the handle keeps the other one (recommended by the case)",
    steps: { 2: { ips: ["fd00::1"] } },
  },
  {
    id: "rh-005",
    on: ALL,
    reason: DERIVED,
    steps: { 1: { handles: {} }, 2: failsWith("notFound"), 3: failsWith("notFound") },
  },
  { id: "rh-006", on: ALL, reason: DERIVED, steps: { 0: failsWith("notFound"), 1: failsWith("notFound") } },
  {
    id: "rh-008",
    on: ALL,
    reason: "handles are told apart exactly, also by case (recommended by the case)",
    steps: { 2: { handles: { "Pod-X": { "10.0.0.0/26": 1 }, "pod-x": { "10.0.0.0/26": 1 } } } },
  },
  {
    id: "cd-005",
    on: ALL,
    reason: BY_TIME,
    steps: { 4: { pools: [{ inUse: 1, available: 3 }] }, 5: { wrote: false } },
  },
  { id: "cd-006", on: ["model"], reason: BY_TIME, steps: { 4: { wrote: false } } },
  {
    id: "cd-006",
    on: API,
    reason: `${BY_TIME}; the order of the queue is not to be seen from outside`,
    steps: {
      4: { wrote: false },
      6: { blocks: [{ cooldown: [], free: ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"] }] },
    },
  },
  {
    id: "cd-010",
    on: ALL,
    reason: "an address that cools is not allocated, whatever handle is given (contract 6)",
    steps: { 2: failsWith("notFound") },
  },
  {
    id: "cd-012",
    on: ALL,
    reason: "the address that is free for longest goes first (I12; recommended by the case)",
    steps: { 5: { v4: { ips: ["10.0.0.5", "10.0.0.2"] } } },
  },
  {
    id: "ca-010",
    on: ALL,
    reason: "the whole range must lie in one pool (recommended by the case)",
    steps: { 0: failsWith("cidrNotInPool") },
  },
  {
    id: "ra-017",
    on: API,
    reason: NO_TRACE,
    steps: {
      2: {
        affinities: [{ host: "host-a", type: "host", cidr: "10.0.0.0/26", state: "confirmed" }],
        count: 1,
      },
    },
  },
  {
    id: "ra-006",
    on: ALL,
    reason: "each block of a range is judged by itself, as in all releases (contract 3, design 6)",
    steps: {
      3: {
        affinities: [{ host: "host-a", type: "host", cidr: "10.0.0.64/26", state: "confirmed" }],
        count: 1,
      },
    },
  },
  {
    id: "ar-002",
    on: API,
    reason: LEAVING,
    steps: {
      0: { v4: { count: 1, within: "10.0.0.0/24" } },
      1: { count: 1 },
      2: { count: 1, blocks: [{ affinity: "host:host-a" }] },
    },
  },
  {
    id: "ar-005",
    on: API,
    reason: LEAVING,
    steps: { 0: { v4: { count: 1, within: "10.0.0.0/24" } }, 1: { count: 1 } },
    endsAfter: 1,
  },
  {
    id: "ar-006",
    on: ALL,
    reason: "there are no affinities without a state here; old data is entered as confirmed",
    steps: {
      1: {
        affinities: [{ host: "host-a", type: "host", cidr: "10.0.0.0/26", state: "confirmed" }],
        count: 1,
      },
    },
  },
  {
    id: "ar-013",
    on: API,
    reason: "whoever wants the block asks the first host, which clears its row away by that (design 3.2)",
    steps: {
      1: {
        affinities: [{ host: "host-b", type: "host", cidr: "10.0.0.0/26", state: "confirmed" }],
        count: 1,
      },
    },
  },
  {
    id: "ar-014",
    on: ALL,
    reason: "an affinity without a block is deleted by any release (recommended by the case)",
    steps: { 3: { affinities: [], count: 0 } },
  },
  {
    id: "rc-001",
    on: ALL,
    reason: "an address that was released goes behind those never used, also under a new owner (I12)",
    steps: { 5: { v4: { ips: ["10.0.0.1"] } } },
  },
  { id: "hr-003", on: API, reason: SET_ASIDE, steps: { 0: failsWith("invalidHostReservation") } },
  { id: "hr-004", on: API, reason: SET_ASIDE, steps: { 0: failsWith("invalidHostReservation") } },
  {
    id: "eb-003",
    on: API,
    reason: ANY_POOL,
    steps: { 0: failsWith("invalidArgument") },
  },
  {
    id: "eb-004",
    on: API,
    reason: ANY_POOL,
    steps: {
      0: failsWith("invalidArgument"),
      1: failsWith("invalidArgument"),
      2: failsWith("invalidArgument"),
    },
  },
  {
    id: "eb-009",
    on: ALL,
    reason: "the cap on owned blocks holds here too (I10; recommended by the case)",
    steps: { 2: failsWith("blockLimit"), 3: { count: 1 } },
  },
  {
    id: "ut-007",
    on: ALL,
    reason: NO_ORPHANS,
    steps: {
      0: {
        pools: [
          { name: "p", capacity: 256, available: 256, blocks: [] },
          { name: "q", capacity: 256, available: 256, blocks: [] },
        ],
      },
    },
  },
  {
    id: "ut-108",
    on: API,
    reason: "figures are those of pools, and no pool may cover link-local addresses",
    steps: { 0: failsWith("validation") },
  },
  {
    id: "se-005",
    on: API,
    reason: "a selector is asked through a pool here, and a pool's selector may not say global()",
    steps: { 0: failsWith("selectorSyntax") },
  },
  { id: "ut-008", on: ["model"], reason: NO_ORPHANS, steps: { 2: { pools: [] } } },
  {
    id: "ut-008",
    on: API,
    reason: NO_ORPHANS,
    steps: {
      2: {
        pools: [
          {
            name: "p",
            capacity: 256,
            inUse: 1,
            available: 192,
            blocks: [{ cidr: "10.0.0.0/26", capacity: 64, inUse: 1, available: 0 }],
          },
        ],
      },
    },
  },
  { id: "aa-049", on: API, reason: NO_ORPHANS, steps: { 2: { affinities: [], count: 0 } }, endsAfter: 2 },
  {
    id: "rl-009",
    on: API,
    reason: NO_ORPHANS,
    steps: { 2: { released: ["10.0.0.1", "10.0.0.99"], unallocated: ["10.0.0.99"] } },
  },
  {
    id: "at-004",
    on: ALL,
    reason: "an address is looked up in its block, whatever state its pool is in (recommended by the case)",
    steps: { 2: { handle: "h" } },
  },
  {
    id: "ow-017",
    on: ALL,
    reason: "owners are changed on the address that is named alone (recommended by the case)",
    steps: { 2: { activeOwner: null } },
  },
  {
    id: "pv-028",
    on: ALL,
    reason: "a pool with a namespace selector and no uses is for workloads (recommended by the case)",
    steps: { 0: { pool: { allowedUses: ["Workload"] } } },
  },
];
