/**
 * `npm run simulate`: random histories of the whole deployment, each from a seed; one that finds
 * something is shortened and shown. May import: the simulation, node.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { live } from "../../support/simulation/histories/life.ts";
import { planOf } from "../../support/simulation/histories/plan.ts";
import { type Kept, liveKept, shrink, sortOf } from "../../support/simulation/histories/shrink.ts";
import { employ } from "./crew.ts";
import { findAll } from "./find-planted.ts";
import { optionsOf, type SimulateOptions, USAGE } from "./options.ts";
import { RARE } from "./rare.ts";
import { ProgressLine, table } from "./screen.ts";
import type { Report } from "./worker.ts";

/** Lives that shortening one history may take, and histories that are shortened in one run. */
const LIVES_MAX = 400;
const SHORTENED_MAX = 3;
/** Fewer histories than this need not meet everything that is rare. */
const RARE_FROM = 300;
const REPORTS = fileURLToPath(new URL("../../../reports", import.meta.url).href);

interface Total {
  histories: number;
  operations: number;
  readonly reached: Map<string, number>;
  /** The first history of each sort of finding, and how many there were. */
  readonly failed: Map<string, { readonly first: Report; count: number }>;
}

async function runAll(options: SimulateOptions): Promise<boolean> {
  const { histories, operations, from, hours, processes } = options;
  const total: Total = { histories: 0, operations: 0, reached: new Map(), failed: new Map() };
  const line = new ProgressLine();
  const beganAt = performance.now();
  const seconds = (): number => (performance.now() - beganAt) / 1000;
  const share = (): number =>
    hours === undefined ? total.histories / histories : seconds() / (hours * 3600);
  let ordered = 0;
  const next = () => {
    const isOver = hours === undefined ? ordered >= histories : seconds() >= hours * 3600;
    return isOver ? undefined : { seed: from + ordered++, operations };
  };
  await employ(processes, next, (report) => {
    add(total, report);
    const rate = Math.round(total.operations / seconds());
    line.show(share(), `${total.histories} histories, ${rate}/s, ${failures(total)} failed`);
  });
  line.end();
  const rate = Math.round(total.operations / seconds());
  console.log(table(RARE.map((what) => [what, total.reached.get(what) ?? 0] as const)));
  console.log(
    `${total.histories} histories from seed ${from}, ${total.operations.toLocaleString("en")} operations in ` +
      `${seconds().toFixed(0)} s: ${rate.toLocaleString("en")}/s in ${processes} processes`,
  );
  return await conclude(total, options);
}

function add(total: Total, report: Report): void {
  total.histories += 1;
  total.operations += report.operations;
  for (const [what, n] of report.reached) total.reached.set(what, (total.reached.get(what) ?? 0) + n);
  const [finding] = report.findings;
  if (finding === undefined) return;
  const same = total.failed.get(sortOf(finding));
  if (same === undefined) total.failed.set(sortOf(finding), { first: report, count: 1 });
  else same.count += 1;
}

function failures({ failed }: Total): number {
  return [...failed.values()].reduce((sum, { count }) => sum + count, 0);
}

/** Shows what failed, shortened; true if nothing did and everything rare was met. */
async function conclude(total: Total, { operations, isReported }: SimulateOptions): Promise<boolean> {
  const missing = total.histories < RARE_FROM ? [] : RARE.filter((what) => !total.reached.has(what));
  if (isReported) writeReport(total, missing);
  for (const what of missing) console.log(`never reached, so that the run proves nothing of it: ${what}`);
  for (const [sort, { first, count }] of [...total.failed].slice(0, SHORTENED_MAX)) {
    console.log(`\n${sort}: in ${count} of ${total.histories} histories, first in seed ${first.seed}`);
    await shorten(first.seed, operations);
  }
  return total.failed.size === 0 && missing.length === 0;
}

/** Finds the shortest history of a seed, and shows it. */
async function shorten(seed: number, operations: number): Promise<boolean> {
  const plan = planOf(seed, operations);
  const lived = await live(plan);
  if (lived.findings.length === 0) {
    console.log(`seed ${seed}: ${lived.operations} operations, ${lived.faults.length} faults, nothing found`);
    return true;
  }
  for (const finding of lived.findings) console.log(`seed ${seed}: ${finding}`);
  const line = new ProgressLine();
  const progress = (lives: number, { steps, faults }: Kept): void => {
    line.show(lives / LIVES_MAX, `shorter: ${steps.length} operations, ${faults.length} faults`);
  };
  const shrunk = await shrink(plan, lived, LIVES_MAX, { progress });
  line.end();
  console.log(`The shortest of ${shrunk.lives} that still fail:`);
  for (const at of shrunk.faults) console.log(`  fault ${at}: ${lived.faults[at]}`);
  await liveKept(plan, shrunk, lived.faults, { onLine: (text) => console.log(text) });
  console.log("Step by step, with its messages:");
  const kept = `--steps ${shrunk.steps.join(",")} --faults ${shrunk.faults.join(",") || '""'}`;
  console.log(`  npm run simulate -- --seed ${seed} ${kept} --step --messages`);
  return false;
}

/** Shows one history, whole or what is left of it. */
async function replay(seed: number, options: SimulateOptions): Promise<boolean> {
  const plan = planOf(seed, options.operations);
  const isTerminal = process.stdin.isTTY === true;
  const input = options.isStepped && isTerminal ? createInterface(process.stdin, process.stdout) : undefined;
  const shown = {
    isTraced: options.showsMessages,
    onLine: (text: string) => console.log(text),
    ...(input === undefined ? {} : { beforeStep: async () => void (await input.question("")) }),
  };
  try {
    const whole = options.steps === undefined && options.faults === undefined;
    const faults = whole ? [] : (await live(plan)).faults;
    const kept: Kept = {
      steps: options.steps ?? [...plan.steps.keys()],
      faults: options.faults ?? [...faults.keys()],
    };
    const lived = whole ? await live(plan, shown) : await liveKept(plan, kept, faults, shown);
    for (const fault of lived.faults) console.log(`fault: ${fault}`);
    for (const finding of lived.findings) console.log(`found: ${finding}`);
    return lived.findings.length === 0;
  } finally {
    input?.close();
  }
}

/** Leaves a report that the summary of a test run reads as one test. */
function writeReport({ failed, histories }: Total, missing: readonly string[]): void {
  const passed = failed.size === 0 && missing.length === 0;
  const status = passed ? "passed" : "failed";
  const fullName = `${histories} random histories of the whole deployment`;
  const one = { name: "test/simulation/simulate", status, assertionResults: [{ fullName, status }] };
  mkdirSync(REPORTS, { recursive: true });
  writeFileSync(join(REPORTS, "simulation.json"), JSON.stringify({ success: passed, testResults: [one] }));
}

async function main(): Promise<boolean> {
  const options = optionsOf(process.argv.slice(2));
  const { seed, isStepped, steps, faults, showsMessages, planted } = options;
  if (planted !== undefined) return await findAll(planted, options);
  if (seed === undefined) return await runAll(options);
  const isShown = isStepped || showsMessages || steps !== undefined || faults !== undefined;
  return isShown ? await replay(seed, options) : await shorten(seed, options.operations);
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : thrown);
  console.error(USAGE);
  process.exitCode = 2;
}
