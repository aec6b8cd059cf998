/**
 * `npm run crash`: the crash test from a terminal; it ends with 1 when anything did not hold.
 * Options: --cycles N, --clients N, --hosts N, --seed N, --short.
 */
import { parseArgs } from "node:util";
import { Progress } from "../../bench/table.ts";
import { FULL, SHORT } from "./ground.ts";
import { type CrashReport, runCrashTest } from "./run.ts";

const COLUMNS = 80;
const SHOWN_MAX = 40;

const { values } = parseArgs({
  options: {
    cycles: { type: "string" },
    clients: { type: "string" },
    hosts: { type: "string" },
    seed: { type: "string" },
    short: { type: "boolean", default: false },
  },
});
const size = values.short ? SHORT : FULL;

function numberOr(text: string | undefined, otherwise: number): number {
  const given = text === undefined ? otherwise : Number(text);
  if (!Number.isInteger(given) || given < 1) throw new Error(`${text} is not a number above 0`);
  return given;
}

/** Words one after the other, broken to fit. */
function wrapped(words: readonly string[], indent = "  "): string {
  const lines = [""];
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && indent.length + line.length + word.length + 2 > COLUMNS) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line}, ${word}`;
  }
  return lines.map((line) => indent + line).join("\n");
}

/** The figures of a run, and what did not hold. */
function print(report: CrashReport): void {
  const { repair, violations, seen } = report;
  const rows: (readonly [string, number])[] = [
    ["kills and restarts", report.kills],
    ["requests", report.requests],
    ["allocations acknowledged", report.acknowledgedAllocations],
    ["releases acknowledged", report.acknowledgedReleases],
    ["refused", report.refused],
    ["without a known outcome", report.unknown],
    ["allocated at the end", report.allocatedAtEnd],
    ["found by the check", repair.problems],
    ["mended by the check", repair.repaired],
  ];
  for (const [name, count] of rows) console.log(`  ${name.padEnd(28)}${String(count).padStart(8)}`);
  console.log(wrapped(Object.entries(repair.found).map(([word, count]) => `${word} ${count}`)));
  console.log("");
  console.log(wrapped([...seen].toSorted().map(([what, count]) => `${what} ${count}`)));
  console.log("");
  for (const violation of violations.slice(0, SHOWN_MAX)) console.log(`- ${violation}`);
  for (const line of report.evidence) console.log(line);
  console.log(violations.length === 0 ? "Everything held." : `${violations.length} did not hold.`);
}

const options = {
  cycles: numberOr(values.cycles, size.cycles),
  clients: numberOr(values.clients, size.clients),
  hosts: numberOr(values.hosts, size.hosts),
  seed: numberOr(values.seed, (Date.now() % (2 ** 31 - 1)) + 1),
};
const { cycles, clients, hosts, seed } = options;
console.log(`${clients} clients, ${hosts} hosts, ${cycles} cycles, seed ${seed}`);
const progress = new Progress("kill and restart", cycles);
const report = await runCrashTest({ ...options, onCycle: (cycle) => progress.show(cycle) });
print(report);
process.exitCode = report.violations.length === 0 ? 0 : 1;
