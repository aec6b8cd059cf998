/**
 * Random histories on the objects and on the in-memory reference: both must answer alike.
 * `DIFFERENTIAL_SECONDS` goes on with further seeds.
 */
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { Given, Outcome } from "../../conformance/vocabulary.ts";
import { isUsual, seed, seeds } from "../../support/seeds.ts";
import { Lockstep } from "./lockstep.ts";
import { type RandomStep, steps } from "./steps.ts";
import { givens } from "./worlds.ts";

interface History {
  readonly given: Given;
  readonly steps: readonly RandomStep[];
}

const SECONDS = Number(process.env.DIFFERENTIAL_SECONDS ?? 0);
const SEEDS = seeds([1, 2, 3, 4, 747_922_084]);
const HISTORIES_PER_SEED = 30;
const STEPS_MAX = 40;
/** Looking at whole lists costs as much as several steps. */
const LOOK_AT_ALL_EVERY = 6;
/** A failing history is made shorter for so long, ms; before, it ends no run, however slow the machine is. */
const SHRINK_MS = 480_000;

const histories: fc.Arbitrary<History> = fc.record({
  given: givens,
  steps: fc.array(steps, { minLength: 10, maxLength: STEPS_MAX, size: "max" }),
});

/** What the histories are about: an outcome that was never met proves nothing. */
const met = new Map<string, number>();

async function play({ given, steps: all }: History): Promise<void> {
  const run = await Lockstep.open(given);
  try {
    for (const [index, step] of all.entries()) {
      const outcome = await run.run(step);
      if (outcome !== undefined) note(step, outcome);
      if (index % LOOK_AT_ALL_EVERY === 0) await run.compareAll();
    }
    await run.compareAll();
  } finally {
    await run.end();
  }
}

function note({ op }: RandomStep, { error, v4, v6 }: Outcome): void {
  const reasons = [v4, v6].flatMap((one) => {
    return (one as { reasons?: { kind: string }[] } | null | undefined)?.reasons ?? [];
  });
  const ended = error?.kind ?? reasons[0]?.kind ?? "done";
  for (const what of ["steps", `${op} ${ended}`]) met.set(what, (met.get(what) ?? 0) + 1);
}

async function holds(from: number): Promise<void> {
  const property = fc.asyncProperty(histories, play);
  const limits = { interruptAfterTimeLimit: SHRINK_MS, markInterruptAsFailure: false };
  const details = await fc.check(property, { seed: from, numRuns: HISTORIES_PER_SEED, ...limits });
  if (!details.failed) return;
  const [shortest] = details.counterexample ?? [];
  throw new Error(`SEED=${from}\n${written(shortest)}\n${details.errorInstance}`);
}

/** As lines that can be made a case. */
function written(history: History | undefined): string {
  if (history === undefined) return "no history";
  return [history.given, ...history.steps].map((line) => JSON.stringify(line)).join("\n");
}

test.each(SEEDS)(
  "I1 I2 I3 I7 I8 I9 I10 I12 I14 I15: the objects do what the reference does (seed %i)",
  holds,
  20 * 60_000,
);

if (SECONDS > 0) {
  const patience = SECONDS * 1000 + 20 * 60_000;
  test("and so they do for as long as they are told", { timeout: patience }, async () => {
    const end = Date.now() + SECONDS * 1000;
    for (let next = seed + SEEDS.length; Date.now() < end; next += 1) await holds(next);
  });
}

/** What a change of the steps must not lose. */
const RARE = [
  "autoAssign done",
  "autoAssign poolsExhausted",
  "autoAssign strictAffinity",
  "autoAssign blockLimit",
  "autoAssign handleCapReached",
  "autoAssign requestedPoolUnavailable",
  "autoAssign noPoolSelectsHost",
  "autoAssign noQualifiedPool",
  "autoAssign autoAllocateDisabled",
  "assignIp done",
  "assignIp alreadyExists",
  "assignIp strictAffinityViolation",
  "assignIp ipNotInPool",
  "releaseIps done",
  "releaseIps badSequenceNumber",
  "releaseIps badHandle",
  "releaseByHandle done",
  "releaseHostAffinities blockNotEmpty",
  "claimAffinity done",
  "ensureBlock done",
  "removeHost done",
  "deletePool done",
  "createPool done",
  "setOwnerAttributes done",
];

test("they meet what is rare", () => {
  if (isUsual) expect(RARE.filter((what) => !met.has(what))).toEqual([]);
});

afterAll(() => {
  console.info(`differential: ${met.get("steps")} steps, seeds ${SEEDS.join(", ")}`);
});
