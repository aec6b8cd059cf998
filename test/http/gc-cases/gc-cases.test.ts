/** The cases of the leak collector on the running service: agents report, operators act, the clock is moved. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { continued, LEAK_DEVIATIONS } from "../../core/leak-deviations.ts";
import type { LeakCase } from "../../core/leak-vocabulary.ts";
import { compare } from "./case-compare.ts";
import { play, playWithCluster } from "./case-play.ts";
import { isReclaim, playReclaim } from "./case-reclaim.ts";
import { HTTP_DEVIATIONS, NOT_PLAYED, OF_CLUSTER, paced } from "./case-table.ts";

const file = new URL("../../conformance/cases/gc.jsonl", import.meta.url);
const lines = readFileSync(file, "utf8").split("\n");
const cases = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LeakCase);
const reasonOf = (id: string) => Object.keys(NOT_PLAYED).find((prefix) => id.startsWith(prefix));
const played = cases.filter(({ id }) => reasonOf(id) === undefined);

function playerOf(one: LeakCase) {
  if (isReclaim(one)) return playReclaim;
  return OF_CLUSTER.has(one.id) ? playWithCluster : play;
}

describe("a service of its own for each case", () => {
  it.concurrent.each(played.map((one) => [one.id, one] as const))("%s", async (id, one) => {
    const entry = HTTP_DEVIATIONS[id] ?? LEAK_DEVIATIONS[id];
    const whole = continued(paced(one), entry);
    const answers = await playerOf(one)(whole);
    const { faults, compared } = compare(whole, answers, entry?.steps ?? {});
    expect([one.why, ...faults].join("\n")).toBe(one.why);
    expect(compared).toBeGreaterThan(0);
    if (entry === undefined) return;
    expect(
      compare(one, answers, {}).faults,
      "the tables have entries that the case does not need",
    ).not.toEqual([]);
  });
});

it("every case is played whole, or named with its reason; a third of all are played", () => {
  expect(cases.length).toBe(131);
  expect(played.length).toBeGreaterThanOrEqual(44);
  for (const prefix of Object.keys(NOT_PLAYED)) {
    expect(cases.some(({ id }) => id.startsWith(prefix))).toBe(true);
  }
  const named = Object.keys(HTTP_DEVIATIONS);
  expect(named.filter((id) => !played.some((one) => one.id === id))).toEqual([]);
});

describe("the driver", () => {
  const one = played.find(({ id }) => id === "gc-valid-005");
  const [first, last] = one?.steps ?? [];
  if (one === undefined || first === undefined || last === undefined) throw new Error("the case is gone");

  it("finds what is wrong, and fails a member that it cannot answer", async () => {
    const right = (await play(one)) as Record<string, unknown>[];
    expect(compare(one, right, {}).faults).toEqual([]);
    const wrong = { released: [], blocks_left: [], nodes_released: ["cnode"], result: "work_remaining" };
    for (const [name, value] of Object.entries({ ...wrong, colour: "red" })) {
      const steps = [first, { ...last, expect: { ...last.expect, [name]: value } }];
      expect(compare({ ...one, steps }, right, {}).faults).toHaveLength(1);
    }
  });
});
