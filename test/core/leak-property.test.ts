/** I11 as a property: random histories of one host, and an oracle that looks back at all that was heard. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../support/seeds.ts";
import { LeakHistory, type Step } from "./leak-history.ts";

const kinds = fc.oneof(
  { weight: 7, arbitrary: fc.constant("tell" as const) },
  { weight: 3, arbitrary: fc.constant("report" as const) },
  { weight: 4, arbitrary: fc.constant("deliver" as const) },
  { weight: 5, arbitrary: fc.constant("list" as const) },
  { weight: 2, arbitrary: fc.constant("collect" as const) },
  { weight: 5, arbitrary: fc.constant("wait" as const) },
  { weight: 4, arbitrary: fc.constant("allocate" as const) },
  { weight: 2, arbitrary: fc.constant("end" as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "touch" as const,
      "restart" as const,
      "clock" as const,
      "remove" as const,
      "register" as const,
      "register" as const,
    ),
  },
);

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: kinds,
    slot: fc.nat(5),
    size: fc.constantFrom(1, 20, 60, 130, 320, 610),
    isWhole: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    isEmpty: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
  }),
  { minLength: 40, maxLength: 160 },
);

describe("I11 under random histories", () => {
  it.each([
    ["the host alone", false, false],
    ["the host alone, all of it true", false, true],
    ["the host and a cluster", true, false],
    ["the host and a cluster, all of it true", true, true],
  ])("I11: nothing is released that the last complete evidence calls alive, by %s", (_, cluster, honest) => {
    const released = { active: 0, gone: 0 };
    fc.assert(
      fc.property(steps, (list) => {
        const history = new LeakHistory({ hasKubernetes: cluster, isHonest: honest });
        for (const step of list) {
          history.run(step);
          expect(history.faults).toEqual([]);
        }
        released.active += history.released.active;
        released.gone += history.released.gone;
      }),
      { numRuns: runs(150) },
    );
    // What releases nothing proves nothing.
    expect(released.active).toBeGreaterThan(20);
    expect(released.gone).toBeGreaterThan(20);
  });
});
