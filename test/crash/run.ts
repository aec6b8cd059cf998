/**
 * One crash test: clients and operators at work, SIGKILL and restart at seeded moments, then a verdict.
 * May import: everything of the tests. Rule: it ends its own service, also when it fails.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pause, Recorder } from "../http/load/recorder.ts";
import { randomFrom } from "../http/load/workload.ts";
import type { Operation } from "../support/history.ts";
import { HttpClient } from "../support/http-client.ts";
import { type Service, startService } from "../support/service.ts";
import { Agents } from "./agents.ts";
import { SkippingClock } from "./clock.ts";
import { groundOf, prepare, SETTINGS, type Size } from "./ground.ts";
import { CrashLoad } from "./load.ts";
import { Operators } from "./operator.ts";
import { type CheckEnd, judge } from "./verdict.ts";

export interface CrashOptions extends Size {
  readonly seed: number;
  /** What the load is to meet: after the last kill it goes on until it has, to a bound. */
  readonly expected?: readonly string[];
  /** Called when a cycle is over. */
  readonly onCycle?: (cycle: number, requests: number) => void;
}

export interface CrashReport {
  readonly kills: number;
  readonly requests: number;
  readonly acknowledgedAllocations: number;
  readonly acknowledgedReleases: number;
  readonly refused: number;
  /** Requests whose outcome nobody knows. */
  readonly unknown: number;
  readonly allocatedAtEnd: number;
  readonly repair: CheckEnd;
  /** How often each thing happened. */
  readonly seen: ReadonlyMap<string, number>;
  /** Empty: everything held. */
  readonly violations: readonly string[];
  /** What the first violations are about: every request of their handles and addresses. */
  readonly evidence: readonly string[];
}

/** Until a message that left before the end can no longer arrive, and nothing cools. */
const SETTLE_MS = 3_000;
/** How long the service runs before a kill; now and then it is killed while it comes up. */
const LIFE_MS = { least: 400, most: 3_400, soon: 60 };
const SOON_SHARE = 0.15;
/** How long the load goes on after the last kill until it has met what it is to meet. */
const MEETS_WITHIN_MS = 60_000;
/** How long a service seems to have been down, at the most; it makes leaks old enough. */
const SKIP_MS_MAX = 100_000;
/** After the end: rounds of reports, and how far they lie apart; attachments are heard once in two minutes. */
const ROUNDS = 5;
const ROUND_MS = 125_000;
/** Violations that are explained by their requests, and the last requests of each. */
const EXPLAINED_MAX = 5;
const REQUESTS_MAX = 40;

/** Runs it on a data folder of its own. */
export async function runCrashTest(options: CrashOptions): Promise<CrashReport> {
  const dataDir = mkdtempSync(join(tmpdir(), "edge-ipam-crash-"));
  const clock = new SkippingClock();
  clock.vars.TEST_SETTINGS = JSON.stringify(SETTINGS);
  const service = await startService({ dataDir, entry: "test/support/entry.ts", vars: clock.vars });
  const client = new HttpClient(() => service.url, options.clients * 2);
  try {
    return await run(options, service, client, clock);
  } finally {
    client.close();
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function run(
  options: CrashOptions,
  service: Service,
  client: HttpClient,
  clock: SkippingClock,
): Promise<CrashReport> {
  const ground = groundOf(options);
  const random = randomFrom(options.seed);
  const recorder = new Recorder(client);
  const load = new CrashLoad(recorder, ground, random);
  const operators = new Operators(recorder, ground, load, random);
  const agents = new Agents(recorder, client, ground, random);
  await prepare(client, ground);
  let isOver = false;
  const goesOn = (): boolean => isOver;
  const kill = async (): Promise<void> => {
    try {
      await killOften(options, service, clock, recorder, random);
    } finally {
      isOver = true;
    }
  };
  await Promise.all([
    ...Array.from({ length: options.clients }, () => load.run(goesOn)),
    operators.run(goesOn),
    agents.run(goesOn),
    kill(),
  ]);
  await pause(SETTLE_MS);
  await collectAll(client, clock, agents);
  // Connections that were idle for long may be closed by the other side as they are used again.
  client.close();
  const { violations, repair, allocated } = await judge(client, recorder, {
    ground,
    operators,
    agents,
    clock,
  });
  const { history, seen } = recorder;
  const count = (kind: string, outcome: string): number =>
    history.filter((one) => one.kind === kind && one.outcome === outcome).length;
  return {
    kills: options.cycles,
    requests: history.length,
    acknowledgedAllocations: count("allocate", "ok"),
    acknowledgedReleases: count("release", "ok"),
    refused: count("allocate", "refused") + count("release", "refused"),
    unknown: history.filter(({ outcome }) => outcome === "unknown").length,
    allocatedAtEnd: allocated,
    repair,
    seen,
    violations,
    evidence: violations.slice(0, EXPLAINED_MAX).flatMap((text) => requestsAbout(text, history)),
  };
}

/** All agents report for as long as any leak needs. */
async function collectAll(client: HttpClient, clock: SkippingClock, agents: Agents): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    clock.skip(ROUND_MS);
    await client.must("POST", "/test/clock", { offsetMs: clock.offsetMs });
    await agents.reportAll();
  }
}

/** The requests of the handles and addresses that a violation names, as they were sent. */
function requestsAbout(text: string, history: readonly Operation[]): string[] {
  const words = new Set(text.split(/[\s,]+/));
  const isMeant = (operation: Operation): boolean =>
    words.has(operation.handle ?? "") ||
    ("got" in operation && operation.got.some(({ address }) => words.has(address))) ||
    (operation.kind === "release" && operation.results.some(({ address }) => words.has(address)));
  const meant = history.filter(isMeant).toSorted((one, other) => one.invokedAt - other.invokedAt);
  return [`requests about: ${text}`, ...meant.slice(-REQUESTS_MAX).map((one) => `  ${JSON.stringify(one)}`)];
}

async function killOften(
  { cycles, onCycle, expected = [] }: CrashOptions,
  service: Service,
  clock: SkippingClock,
  { history, seen }: Recorder,
  random: () => number,
): Promise<void> {
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    const { least, most, soon } = LIFE_MS;
    await pause(random() < SOON_SHARE ? random() * soon : least + random() * (most - least));
    await service.kill();
    clock.skip(Math.floor(random() * SKIP_MS_MAX));
    await service.restart();
    onCycle?.(cycle, history.length);
  }
  // What the last kill has cut off is asked for again.
  await pause(LIFE_MS.most);
  const until = performance.now() + MEETS_WITHIN_MS;
  while (performance.now() < until && !expected.every((what) => seen.has(what))) await pause(100);
}
