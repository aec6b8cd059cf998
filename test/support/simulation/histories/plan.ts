/**
 * A history before it runs: who does what when, drawn from a seed as plain values.
 * May import: random, types of the world. Rule: no operation needs another to be there, so that any may be left out.
 */
import { Random } from "../random.ts";
import type { Faults } from "../world.ts";
import { type FleetOperation, fleetOperation, handleOfHost, longPauseMs, wholeRound } from "./plan-fleet.ts";

/** Several of what was answered so far are candidates; a share of [0, 1) picks one. */
type Pick = number;

export type Operation =
  | { readonly do: "allocate"; readonly host: string; readonly wishes: readonly Wish[] }
  | { readonly do: "batch"; readonly host: string; readonly wishes: readonly Wish[] }
  | { readonly do: "repeat"; readonly pick: Pick }
  | { readonly do: "assign"; readonly host: string; readonly handle: string; readonly address: string }
  | { readonly do: "release handle"; readonly handle: string }
  | { readonly do: "release address"; readonly pick: Pick; readonly guard: Guard }
  | { readonly do: "claim block"; readonly host: string; readonly block: string }
  | { readonly do: "give up blocks"; readonly host: string; readonly mustBeEmpty: boolean }
  | { readonly do: "change owners"; readonly pick: Pick; readonly owners: Owners }
  | { readonly do: "set cooldown"; readonly seconds: number }
  | { readonly do: "set strict"; readonly strict: boolean }
  | { readonly do: "reserve"; readonly address: string }
  | { readonly do: "disable"; readonly disabled: boolean }
  | { readonly do: "drain" | "cancel drain" | "split"; readonly pick: Pick }
  | { readonly do: "make pool"; readonly pool: "other" | "v6"; readonly blockSize: number }
  | { readonly do: "remove host" | "register host"; readonly host: string }
  | { readonly do: "evict"; readonly pick: Pick }
  | FleetOperation;

export interface Wish {
  readonly handle: string;
  readonly v4: number;
  readonly v6: number;
  readonly maxPerHandle?: number;
  readonly partial?: boolean;
  readonly pools?: readonly string[];
}

/** What a release of an address says of the tenure that it means. */
export type Guard = "number" | "handle" | "stranger" | "nothing";

export interface Owners {
  readonly active: string;
  readonly alternate: string;
  readonly change: "promote" | "clear";
  readonly pod: string;
}

/** Units: `pauseMs` of virtual time after the operation. */
export interface Step {
  readonly operation: Operation;
  readonly pauseMs: number;
}

export interface Plan {
  readonly seed: number;
  readonly hosts: readonly string[];
  /** Blocks that a host may have in a family; 0: as many as it likes. With a cap, affinity is strict. */
  readonly cap: number;
  readonly laneBatches: number;
  /** Do requests come from pods, which end, and of which agents report? */
  readonly collects: boolean;
  readonly faults: Faults;
  readonly steps: readonly Step[];
}

export const HANDLES = ["h1", "h2", "h3", "h4", "h5", "h6"];
/** Handles that always ask under a limit. */
export const LIMITED = [
  ["limit1", 1],
  ["limit2", 2],
] as const;

const COUNTS = [
  [1, 0],
  [1, 0],
  [2, 0],
  [0, 1],
  [1, 1],
  [1, 1],
  [3, 2],
] as const;

/** Draws a history of so many operations. */
export function planOf(seed: number, operations: number): Plan {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995);
  const hosts = ["a", "b", "c", "d"].slice(0, 2 + random.below(3));
  const cap = random.chance(0.4) ? 1 + random.below(2) : 0;
  const rough = random.pick([0.3, 0.6, 1.2]);
  const drawing: Drawing = {
    random,
    hosts,
    cap,
    livesEnd: random.chance(0.5),
    hostsLeave: random.chance(0.4),
    collects: random.chance(0.4),
    clocksStep: random.chance(0.2),
  };
  const steps = Array.from({ length: operations }, (): Step => {
    const operation = operationOf(drawing);
    if (drawing.collects && random.chance(LONG_PAUSES))
      return { operation: wholeRound(hosts, random), pauseMs: longPauseMs(random) };
    const pauseMs = random.chance(0.08) ? random.between(500, 3_000) : random.between(0, 60);
    return { operation, pauseMs: Math.round(pauseMs) };
  });
  const { collects } = drawing;
  return { seed, hosts, cap, laneBatches: 1 + random.below(2), collects, faults: faultsOf(rough), steps };
}

function faultsOf(rough: number): Faults {
  return {
    delay: [0.5, 6],
    late: 0.02 * rough,
    lateMax: 4_000,
    loseRequest: 0.01 * rough,
    loseAnswer: 0.01 * rough,
    noticed: 0.7,
    misreport: 0.01 * rough,
    crashBeforeCommit: 0.004 * rough,
    crashAfterCommit: 0.004 * rough,
    evict: 0.004 * rough,
    supersede: 0.004 * rough,
  };
}

interface Drawing {
  readonly random: Random;
  readonly hosts: readonly string[];
  readonly cap: number;
  /** Do pools drain, split and come back in this history? */
  readonly livesEnd: boolean;
  /** Do hosts go and come back in it? */
  readonly hostsLeave: boolean;
  readonly collects: boolean;
  /** Are clocks of hosts set, where something is collected? */
  readonly clocksStep: boolean;
}

/** Share of the steps after which so much time passes that something may be found leaked. */
const LONG_PAUSES = 0.12;

/** How often each sort is drawn, beside the others. */
const WEIGHTS: readonly [number, (drawing: Drawing) => Operation][] = [
  [34, allocation],
  [4, batch],
  [14, ({ random }) => ({ do: "repeat", pick: random.next() })],
  [6, assignment],
  [16, (drawing) => ({ do: "release handle", handle: handleOf(drawing, [...HANDLES, "limit1", "limit2"]) })],
  [9, addressRelease],
  [4, blockMove],
  [3, ownerChange],
  [6, policyChange],
  [4, ({ random }) => ({ do: "evict", pick: random.next() })],
  [6, poolLife],
  [4, hostLife],
  [20, (drawing) => (drawing.collects ? fleetOperation(drawing) : allocation(drawing))],
];
const TOTAL = WEIGHTS.reduce((sum, [weight]) => sum + weight, 0);

function operationOf(drawing: Drawing): Operation {
  let at = drawing.random.between(0, TOTAL);
  for (const [weight, draw] of WEIGHTS) {
    at -= weight;
    if (at < 0) return draw(drawing);
  }
  return allocation(drawing);
}

/** A handle of any host, or one that only pods of a host have: what is spread over hosts is seldom leaked. */
function handleOf({ random, hosts, collects }: Drawing, handles = HANDLES, host?: string): string {
  if (!collects || random.chance(0.3)) return random.pick(handles);
  return handleOfHost(host ?? random.pick(hosts), random);
}

function wish(drawing: Drawing, host: string): Wish {
  const { random } = drawing;
  const [v4, v6] = random.pick(COUNTS);
  const handle = handleOf(drawing, HANDLES, host);
  return { handle, v4, v6, ...(random.chance(0.1) ? { partial: true } : {}) };
}

function allocation(drawing: Drawing): Operation {
  const { random, hosts } = drawing;
  const host = random.pick(hosts);
  if (random.chance(0.2)) {
    const [handle, maxPerHandle] = random.pick(LIMITED);
    // Asked for more than it has room for, a handle is refused.
    const v4 = 1 + random.below(maxPerHandle);
    return { do: "allocate", host, wishes: [{ handle, maxPerHandle, v4, v6: 0 }] };
  }
  if (random.chance(0.3)) {
    // Two requests for blocks of different pools at a time: only the cap's own transaction is in their way.
    const both = ["v4", "other"].map((pool) => ({
      handle: handleOf(drawing, HANDLES, host),
      v4: 1,
      v6: 0,
      pools: [pool],
    }));
    return { do: "allocate", host, wishes: both };
  }
  return { do: "allocate", host, wishes: [wish(drawing, host)] };
}

function batch(drawing: Drawing): Operation {
  const { random, hosts } = drawing;
  const host = random.pick(hosts);
  const wishes = Array.from({ length: 2 + random.below(4) }, () => wish(drawing, host));
  return { do: "batch", host, wishes };
}

function assignment(drawing: Drawing): Operation {
  const { random, hosts, cap } = drawing;
  // An explicit claim is refused by no cap, so that rows could not be held against it.
  if (cap > 0) return allocation(drawing);
  const address = `10.0.0.${random.below(16)}`;
  const host = random.pick(hosts);
  return { do: "assign", host, handle: handleOf(drawing, HANDLES, host), address };
}

function addressRelease({ random }: Drawing): Operation {
  const guard = random.pick(["number", "number", "number", "handle", "stranger", "nothing"] as const);
  return { do: "release address", pick: random.next(), guard };
}

function blockMove({ random, hosts, cap }: Drawing): Operation {
  const host = random.pick(hosts);
  if (cap > 0 || random.chance(0.5)) return { do: "give up blocks", host, mustBeEmpty: random.chance(0.7) };
  return { do: "claim block", host, block: `10.0.0.${4 * random.below(4)}/30` };
}

function ownerChange({ random }: Drawing): Operation {
  const owners: Owners = {
    active: random.pick(["", "x"]),
    alternate: random.pick(["", "y", "y"]),
    change: random.pick(["promote", "clear"]),
    pod: random.pick(["x", "y", "y"]),
  };
  return { do: "change owners", pick: random.next(), owners };
}

function policyChange({ random, cap }: Drawing): Operation {
  switch (random.below(cap > 0 ? 3 : 4)) {
    case 0:
      return { do: "set cooldown", seconds: random.pick([0, 1, 2]) };
    case 1:
      return { do: "reserve", address: `10.0.0.${random.below(16)}` };
    case 2:
      return { do: "disable", disabled: random.chance(0.3) };
    default:
      return { do: "set strict", strict: random.chance(0.5) };
  }
}

function poolLife(drawing: Drawing): Operation {
  const { random, livesEnd } = drawing;
  if (!livesEnd) return allocation(drawing);
  const pick = random.next();
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      return { do: "drain", pick };
    case 3:
      return { do: "cancel drain", pick };
    case 4:
      return { do: "split", pick };
    case 5:
      return { do: "make pool", pool: "v6", blockSize: random.pick([125, 126, 127, 128]) };
    default:
      return { do: "make pool", pool: "other", blockSize: random.pick([29, 30, 31, 32]) };
  }
}

function hostLife(drawing: Drawing): Operation {
  const { random, hosts, hostsLeave } = drawing;
  if (!hostsLeave) return allocation(drawing);
  return { do: random.chance(0.5) ? "remove host" : "register host", host: random.pick(hosts) };
}
