/** Deliberate faults F1–F36: each is planted in the product and found within its budget, or shown elsewhere. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { DIRECTED } from "../histories/directed/index.ts";
import { ELSEWHERE, PLANTED } from "./planted.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url).href);
const STAND_INS = new URL("./stand-ins.ts", import.meta.url).href;
const NAMES = Object.keys(PLANTED);

/** Lines of `npm run simulate -- --planted`, by fault. */
async function search(names: readonly string[]): Promise<Map<string, string>> {
  const options = ["--disable-warning=ExperimentalWarning", "--import", STAND_INS, MAIN];
  const command = [...options, "--planted", names.join(",")];
  // A fault that is not found has its line too, and ends the command with an error.
  const { stdout } = await promisify(execFile)(process.execPath, command).catch((failed) => failed);
  const lines = String(stdout)
    .split("\n")
    .filter((line) => /^[FL]\d/.test(line));
  return new Map(lines.map((line) => [line.slice(0, 4).trim(), line]));
}

test("every fault F1–F36 is planted in the product, each in one place, or shown elsewhere", () => {
  const names = Array.from({ length: 36 }, (_, at) => `F${at + 1}`);
  expect(names.filter((name) => name in PLANTED === name in ELSEWHERE)).toEqual([]);
  for (const [name, { file, find, replace }] of Object.entries(PLANTED)) {
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url).pathname, "utf8");
    expect(source.split(find).length - 1, `${name} in ${file}: ${find}`).toBe(1);
    expect(replace).not.toBe(find);
  }
});

test("every planted fault has a budget; every directed history finds one", () => {
  const without = NAMES.filter((name) => !PLANTED[name]?.directed && !PLANTED[name]?.within);
  expect(without).toEqual([]);
  const used = Object.values(PLANTED).flatMap(({ directed }) => directed ?? []);
  expect(new Set(used)).toEqual(new Set(Object.keys(DIRECTED)));
});

test("faults with a directed history are found at its first playing", async () => {
  const names = NAMES.filter((name) => PLANTED[name]?.directed !== undefined);
  const found = await search(names);
  for (const name of names) expect(found.get(name)).toMatch(/^[FL]\d+[a-z]? +directed /);
}, 600_000);

test("the others are found in random histories, within their budget", async () => {
  const names = NAMES.filter((name) => PLANTED[name]?.directed === undefined);
  const found = await search(names);
  for (const name of names) expect(found.get(name)).toMatch(/^[FL]\d+[a-z]? +\d+ /);
}, 600_000);
