/** Random histories of the whole deployment, how one is shortened, and the command that goes on with them. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { BlockObject } from "../../../durable-objects/block.ts";
import type { ReleaseHandleRequest } from "../../../src/rpc/block.ts";
import { live } from "../../support/simulation/histories/life.ts";
import { planOf } from "../../support/simulation/histories/plan.ts";
import { liveKept, shrink } from "../../support/simulation/histories/shrink.ts";
import type { ObjectClass } from "../../support/simulation/objects.ts";

const HISTORIES = 10;
const OPERATIONS = 200;
const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url).href);
const STAND_INS = new URL("./stand-ins.ts", import.meta.url).href;

/** The product with blocks that know of no key when they are asked to release it. */
function forgetful(product: Record<string, ObjectClass>): Record<string, ObjectClass> {
  class ForgetfulBlock extends (product.BlockObject as typeof BlockObject) {
    override async releaseHandle({ keys }: ReleaseHandleRequest) {
      return { keys: keys.map(({ key }) => ({ key, outcome: "absent", records: [] }) as const) };
    }
  }
  return { ...product, BlockObject: ForgetfulBlock };
}

async function simulate(...args: string[]): Promise<{ stdout: string }> {
  const options = ["--disable-warning=ExperimentalWarning", "--import", STAND_INS, MAIN, ...args];
  return await promisify(execFile)(process.execPath, options);
}

test("I1–I15: whatever is late, lost, repeated, cut off, moved or ended, what was acknowledged holds", async () => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { findings } = await live(planOf(seed, OPERATIONS));
    expect(findings, `npm run simulate -- --seed ${seed}`).toEqual([]);
  }
}, 300_000);

test("equal seeds give equal histories, with the same faults", async () => {
  for (const seed of [3, 4]) {
    const lines: string[][] = [[], []];
    const lives = await Promise.all(
      lines.map((told) => live(planOf(seed, 60), { isTraced: true, onLine: (line) => told.push(line) })),
    );
    expect(lives[1]).toEqual(lives[0]);
    expect(lines[1]).toEqual(lines[0]);
    expect(lines[0]?.length).toBeGreaterThan(500);
  }
});

test("a fault is found, and the shortest history that shows it is a few operations", async () => {
  const plan = planOf(2, OPERATIONS);
  const lived = await live(plan, { classes: forgetful });
  expect(lived.findings.join()).toMatch(/^I5: .* which the index does not list/);
  const shrunk = await shrink(plan, lived, 300, { classes: forgetful });
  expect(shrunk.steps.length).toBeLessThanOrEqual(3);
  expect(shrunk.faults).toEqual([]);
  const again = await liveKept(plan, shrunk, lived.faults, { classes: forgetful });
  expect(again.findings).toContain(shrunk.finding);
  expect((await liveKept(plan, shrunk, lived.faults)).findings).toEqual([]);
});

test("the command lives histories in processes and shows one step by step", async () => {
  const few = await simulate("--histories", "3", "--operations", "40", "--processes", "2");
  expect(few.stdout).toMatch(/^3 histories from seed 1, 120 operations in \d+ s: .*\/s in 2 processes$/m);
  const one = await simulate("--seed", "1", "--operations", "12", "--steps", "0,3", "--faults", "", "--step");
  expect(one.stdout.trimEnd().split("\n").length).toBeGreaterThan(2);
  await expect(simulate("--histories", "many")).rejects.toMatchObject({ code: 2 });
});
