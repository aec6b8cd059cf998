/** The result of the tests is a function of the commit: what is drawn at random is drawn from fixed seeds. */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomTests } from "../hunt/files.ts";
import { isUsual, range, runs, seed, seeds } from "../support/seeds.ts";

const root = resolve(import.meta.dirname, "../..");

/** A seed that a test makes of the time or of chance. */
const DRAWN = /\bMath\.random\(|\brandom(?:Int|Bytes|UUID)\(|\bDate\.now\(\)\s*%|\bseed\b[^\n;]*\bDate\.now/i;

describe("seeds", () => {
  it("are those of the run for each property", () => {
    const drawn: number[] = [];
    fc.assert(fc.property(fc.nat(), (value) => void drawn.push(value)));
    expect(drawn).toEqual(fc.sample(fc.nat(), { seed, numRuns: runs(100) }));
  });

  it("are the usual ones if no others are asked for", () => {
    expect(seeds([7, 5, 3])).toEqual(isUsual ? [7, 5, 3] : range(seed, runs(3)));
  });

  it("come from nowhere else in a test", () => {
    const paths = globSync("test/**/*.test.ts", { cwd: root, exclude: (name) => name === "node_modules" });
    expect(paths.length).toBeGreaterThan(150);
    const others = paths.filter(
      (path) => !path.endsWith("purity.test.ts") && path !== "test/architecture/seeds.test.ts",
    );
    expect(others.filter((path) => DRAWN.test(readFileSync(join(root, path), "utf8")))).toEqual([]);
  });

  it.each([
    "const seed = Date.now() % 2 ** 31;",
    "const seed = Number(process.env.LOAD_SEED ?? Date.now());",
    "run(Math.random() * 100);",
  ])("would be noticed in a test: %s", (line) => {
    expect(DRAWN.test(line)).toBe(true);
  });

  it("a hunt takes the tests that draw, and no others", () => {
    const found = randomTests(root);
    expect(found).toContain("test/core/block-model.test.ts");
    expect(found).toContain("test/simulation/routes-random.test.ts");
    expect(found).not.toContain("test/core/block-undo.test.ts");
  });
});
