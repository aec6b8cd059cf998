/**
 * What can happen to a block, as plain data that fast-check can shrink and print.
 * May import: fast-check. Numbers pick among what exists when the command runs.
 */
import fc from "fast-check";

const handle = fc.constantFrom("h0", "h1", "h2");
const key = fc.constantFrom("k0", "k1", "k2", "k3");
const host = fc.constantFrom("a", "b", "c");
/** Picks one of what there is. */
const pick = fc.nat(999);
/** Milliseconds from the sender's clock. */
const ahead = fc.constantFrom(-1, 0, 40, 2_000, 2_000, 2_000, 2_050);
const epochStep = fc.constantFrom(-1, 0, 1, 1, 1, 2);
const guard = fc.constantFrom("right", "right", "stale", "none");

export type Command =
  | { type: "step"; ms: number }
  | { type: "cooldown"; ms: number }
  | { type: "reserved"; ranges: [number, number][] }
  | { type: "wake" }
  | {
      type: "claim";
      host: string;
      epochStep: number;
      isNewIncarnation: boolean;
      ahead: number;
      ends?: { start: number; end: number } | undefined;
    }
  | { type: "releaseAffinity"; host: string; epochStep: number; mustBeEmpty: boolean }
  | {
      type: "allocate";
      handle: string;
      key: string;
      host: string;
      attempt?: string | undefined;
      count: number;
      ahead: number;
      finalAfter?: number | undefined;
      ordinal?: number | undefined;
      ownerOnly: boolean;
      strict: boolean;
      replayOnly: boolean;
    }
  | {
      type: "releaseHandle";
      handle: string;
      keys: string[];
      onlyHost?: string | undefined;
      finalAfter: number;
    }
  | {
      type: "releaseAddress";
      pick: number;
      number: "right" | "stale" | "none";
      handle: "right" | "stale" | "none";
      onlyHost?: string | undefined;
    }
  | {
      type: "releaseLeaked";
      pick: number;
      touch: "last" | "first" | "earlier";
      handle: "right" | "stale";
      isRepeat: boolean;
      ahead: number;
    }
  | { type: "undo"; pick: number; isStale: boolean }
  | { type: "holds"; handle: string; key: string; finalAfter: number }
  | {
      type: "reuse";
      handle: string;
      keys: string[];
      take: number;
      /** Who asks; older callers do not say. */
      host?: string | undefined;
      ahead: number;
      slot?: "active" | "alternate" | undefined;
    }
  | { type: "retire"; isAcknowledged: boolean };

const steps = fc.constantFrom(0, 1, 49, 51, 100, 1_000, 2_101, 5_000, 60_000, 700_000, -1, -1_000, -60_000);
const type = <T extends string>(value: T) => fc.constant(value);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

const allocate = fc.record({
  type: type("allocate"),
  handle,
  key,
  host,
  attempt: maybe(fc.constantFrom("t0", "t1")),
  count: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) }, fc.integer({ min: 1, max: 40 })),
  ahead,
  finalAfter: maybe(fc.constantFrom(-2_000, -51, -50, 0)),
  ordinal: fc.option(pick, { nil: undefined, freq: 4 }),
  ownerOnly: fc.boolean(),
  strict: fc.boolean(),
  replayOnly: fc.constantFrom(false, false, false, true),
});

/** One command; allocations and releases come most often. */
export const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: allocate },
  { weight: 4, arbitrary: fc.record({ type: type("step"), ms: steps }) },
  { weight: 1, arbitrary: fc.record({ type: type("wake") }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: type("cooldown"), ms: fc.constantFrom(0, 0, 1, 100, 1_000, 10_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: type("reserved"),
      ranges: fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: type("claim"),
      host,
      epochStep,
      isNewIncarnation: fc.constantFrom(false, false, false, true),
      ahead,
      ends: fc.option(fc.record({ start: fc.nat(2), end: fc.nat(1) }), { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: type("releaseAffinity"), host, epochStep, mustBeEmpty: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: type("releaseHandle"),
      handle,
      keys: fc.uniqueArray(key, { minLength: 1 }),
      onlyHost: maybe(host),
      finalAfter: fc.constantFrom(-2_000, -51, 0, 2_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: type("releaseAddress"),
      pick,
      number: guard,
      handle: guard,
      onlyHost: maybe(host),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: type("releaseLeaked"),
      pick,
      touch: fc.constantFrom("last", "last", "first", "earlier"),
      handle: fc.constantFrom("right", "right", "right", "stale"),
      isRepeat: fc.constantFrom(false, false, true),
      ahead,
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: type("undo"), pick, isStale: fc.constantFrom(false, true) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: type("holds"),
      handle,
      key,
      finalAfter: fc.constantFrom(-2_000, -51, 0, 2_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: type("reuse"),
      handle,
      keys: fc.uniqueArray(key, { minLength: 1 }),
      take: fc.integer({ min: 1, max: 3 }),
      host: maybe(host),
      ahead,
      slot: maybe(fc.constantFrom("active", "alternate")),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: type("retire"), isAcknowledged: fc.boolean() }) },
);

const abandon: Command[] = ["a", "b", "c"].map((owner) => ({
  type: "releaseAffinity",
  host: owner,
  epochStep: 1,
  mustBeEmpty: false,
}));
const releaseAll: Command[] = ["h0", "h1", "h2"].map((name) => ({
  type: "releaseHandle",
  handle: name,
  keys: ["k0", "k1", "k2", "k3"],
  finalAfter: 0,
}));

/** The end of a block's life: abandoned in use, emptied, cooled, retired. Why: chance alone rarely gets there. */
const endings: fc.Arbitrary<Command[]> = fc
  .tuple(fc.array(commands, { maxLength: 3 }), fc.boolean(), fc.constantFrom(5_000, 60_000))
  .map(([between, isAcknowledged, ms]) => [
    ...abandon,
    ...between,
    ...releaseAll,
    { type: "step", ms },
    { type: "retire", isAcknowledged },
    { type: "wake" },
  ]);

/** A claim that is accepted by a new block, and then whatever happens. */
export function histories(maxLength: number): fc.Arbitrary<Command[]> {
  const birth: fc.Arbitrary<Command> = fc.record({
    type: type("claim"),
    host: fc.constant("a"),
    epochStep: fc.constant(1),
    isNewIncarnation: fc.constant(false),
    ahead: fc.constant(2_000),
    ends: maybe(fc.record({ start: fc.nat(2), end: fc.nat(1) })),
  });
  const one = commands.map((command) => [command]);
  const next = fc.oneof({ weight: 40, arbitrary: one }, { weight: 1, arbitrary: endings });
  return fc
    .tuple(birth, fc.array(next, { maxLength, size: "max" }))
    .map(([first, rest]) => [first, ...rest.flat()]);
}
