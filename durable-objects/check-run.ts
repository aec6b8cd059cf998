/**
 * One check at a time, in steps: each is committed whole with its place, so that no crash loses it.
 * May import: core, rpc, platform, storage. Rule: an instance that was replaced commits nothing.
 */
import { type CheckRequest, type CheckView, isOnlyTold } from "../src/core/check.ts";
import { rejection } from "../src/core/errors.ts";
import { err, ok } from "../src/core/result.ts";
import type { SweepPort } from "../src/rpc/sweep.ts";
import { CheckCalls } from "./check-calls.ts";
import { CheckFacts } from "./check-facts.ts";
import { CheckMend, type Mended } from "./check-mend.ts";
import { CheckScan, FIRST_PLACE } from "./check-scan.ts";
import type { CheckTask, StepResult } from "./check-task.ts";
import type { Runtime } from "./runtime.ts";
import { CheckRows, type CheckSeries, type StoredCheck } from "./storage/check-rows.ts";
import type { Store } from "./storage/store.ts";

/** Tasks of one step: rows of the index go together, a block takes 70 calls. */
const TASKS_PER_STEP = 256;
const BLOCKS_PER_STEP = 4;
/** How many may wait before they are worked on rather than added to. */
const TASKS_MAX = 512;
/** Pause after a slice that failed, ms. */
const RETRY_MS = 5_000;
/** Slices that fail one after another before the check does: five minutes. */
const FAILURES_MAX = 60;

/** How a series of checks is told from others, and how fast it goes. */
export interface CheckKind {
  readonly series: CheckSeries;
  /** What stands before the number in an id. */
  readonly idPrefix: string;
  /** No further step of a slice begins beyond so many calls: a step takes 300 at most, one event has 900. */
  readonly callsPerSlice: number;
  /** Pause between two slices, ms. */
  readonly pauseMs: number;
}

/** A check that somebody waits for. */
const ASKED_FOR: CheckKind = { series: "", idPrefix: "", callsPerSlice: 500, pauseMs: 20 };

type Answer<M extends keyof SweepPort> = Awaited<ReturnType<SweepPort[M]>>;
type Named = { readonly name: string; readonly task: CheckTask };

export class CheckRun {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #rows: CheckRows;
  readonly #arm: (at: number) => void;
  readonly #kind: CheckKind;

  constructor(runtime: Runtime, store: Store, arm: (at: number) => void, kind: CheckKind = ASKED_FOR) {
    this.#runtime = runtime;
    this.#store = store;
    this.#rows = new CheckRows(store, kind.series);
    this.#arm = arm;
    this.#kind = kind;
  }

  get isRunning(): boolean {
    return this.#rows.running() !== undefined;
  }

  /** When the last one began, running or over. Milliseconds since 1970. */
  get lastBegunAt(): number | undefined {
    return this.#rows.last()?.startedAt;
  }

  start(request: CheckRequest): Answer<"startCheck"> {
    const now = this.#runtime.now();
    return this.#store.transaction(() => {
      const running = this.#rows.running();
      if (running !== undefined) return err(rejection("check_running", { field: this.#id(running) }));
      this.#arm(now);
      return ok(this.#view(this.#rows.begin(request, FIRST_PLACE, now)));
    });
  }

  read({ id, after = 0, limit }: Parameters<SweepPort["getCheck"]>[0]): Answer<"getCheck"> {
    const number = id.startsWith(this.#kind.idPrefix) ? id.slice(this.#kind.idPrefix.length) : "";
    const check = /^[1-9][0-9]{0,14}$/.test(number) ? this.#rows.find(Number(number)) : undefined;
    if (check === undefined) return { findings: [] };
    const found = this.#rows.findings(check.number, after, limit + 1);
    const findings = found.slice(0, limit);
    const next = findings.at(-1)?.number;
    const page = { view: this.#view(check), findings };
    return found.length > limit && next !== undefined ? { ...page, next } : page;
  }

  /** Goes on, from the alarm; returns the pause until the next slice, or nothing when there is none. */
  async slice(): Promise<number | undefined> {
    const begun = this.#rows.running();
    if (begun === undefined) return undefined;
    try {
      return await this.#steps(begun);
    } catch {
      // An object that does not answer is asked again; but a check ends.
      return this.#failed();
    }
  }

  async #steps(begun: StoredCheck): Promise<number | undefined> {
    const { callsPerSlice, pauseMs } = this.#kind;
    const calls = new CheckCalls(this.#runtime);
    const { policy } = await calls.must(() => this.#runtime.ports.cluster().policy({}));
    if (policy === undefined) return RETRY_MS;
    const facts = new CheckFacts(this.#runtime, calls, policy);
    const scan = new CheckScan(facts, begun.request);
    const mend = new CheckMend(facts, scan, begun.request.repair);
    while (calls.used < callsPerSlice) {
      const check = this.#rows.running();
      if (check?.number !== begun.number) return pauseMs;
      const due = this.#due();
      const { count, nextDue } = this.#rows.tasks();
      if (due.length > 0) {
        this.#keepWork(check, due, await mend.work(due.map(({ task }) => task)));
      } else if (check.place.phase !== "over" && count < TASKS_MAX) {
        this.#keepStep(check, await scan.step(check.place));
      } else if (count > 0) {
        return Math.max(pauseMs, nextDue - this.#runtime.now());
      } else {
        await this.#tell(calls, check);
        this.#end(check, "done");
        return undefined;
      }
    }
    return pauseMs;
  }

  #due(): Named[] {
    const due = this.#rows.dueTasks(this.#runtime.now(), TASKS_PER_STEP);
    const blocks = due.filter(({ task }) => task.kind === "block").slice(0, BLOCKS_PER_STEP);
    return [...due.filter(({ task }) => task.kind !== "block"), ...blocks];
  }

  #keepStep(check: StoredCheck, step: StepResult): void {
    this.#commit(check, (current) => {
      this.#keepTasks(step.tasks);
      return {
        ...this.#keepFindings(current, step.findings),
        place: step.place ?? current.place,
        blocksChecked: current.blocksChecked + (step.checked ?? 0),
        blocksTotal: current.blocksTotal + (step.total ?? 0),
      };
    });
  }

  #keepWork(check: StoredCheck, done: readonly Named[], mended: Mended): void {
    this.#commit(check, (current) => {
      for (const { name } of done) this.#rows.dropTask(name);
      this.#keepTasks(mended.tasks);
      const kept = this.#keepFindings(current, mended.findings);
      for (const { name, isRepaired } of mended.repaired) this.#rows.noteRepair(kept, name, isRepaired);
      const repaired = mended.repaired.filter(({ isRepaired }) => isRepaired).length;
      return { ...kept, repaired: kept.repaired + repaired };
    });
  }

  /** A block that waits already is looked at with the hosts of both. */
  #keepTasks(tasks: StepResult["tasks"]): void {
    const now = this.#runtime.now();
    for (const { name, dueInMs, task } of tasks) {
      const waiting = this.#rows.task(name);
      if (waiting === undefined) this.#rows.putTask(name, now + dueInMs, task);
      else if (waiting.kind === "block" && task.kind === "block") {
        const hosts = [...new Set([...waiting.hosts, ...task.hosts])];
        this.#rows.putTask(name, now + dueInMs, { ...waiting, hosts });
      }
    }
  }

  #keepFindings(check: StoredCheck, findings: StepResult["findings"]): StoredCheck {
    let { problems, reports } = check;
    for (const { name, finding } of findings) {
      if (!this.#rows.addFinding({ ...check, problems }, name, finding)) continue;
      problems += 1;
      if (isOnlyTold(finding)) reports += 1;
    }
    return { ...check, problems, reports };
  }

  /** Stores what a step brought, unless another instance has gone on meanwhile. */
  #commit(check: StoredCheck, change: (current: StoredCheck) => StoredCheck): void {
    this.#store.transaction(() => {
      const current = this.#rows.find(check.number);
      if (current?.state !== "running" || current.step !== check.step) return;
      this.#rows.put({ ...change(current), step: check.step + 1, failures: 0 });
    });
  }

  /** What was mended stands among the events, with who asked for it. */
  async #tell(calls: CheckCalls, stored: StoredCheck): Promise<void> {
    const { startedAt, request, repaired } = stored;
    const problems = stored.problems - stored.reports;
    const { repair, by, requestId } = request;
    const id = this.#id(stored);
    if (!repair || problems === 0) return;
    const who = { ...(by === undefined ? {} : { by }), ...(requestId === undefined ? {} : { requestId }) };
    const word = {
      check: id,
      problems,
      repaired,
      message: `check ${id} ${startedAt}`,
      ...who,
    };
    await calls.must(() => this.#runtime.ports.cluster().repaired(word));
  }

  #failed(): number | undefined {
    const check = this.#rows.running();
    if (check === undefined) return undefined;
    if (check.failures + 1 >= FAILURES_MAX) {
      this.#end(check, "failed");
      return undefined;
    }
    this.#store.transaction(() => this.#rows.put({ ...check, failures: check.failures + 1 }));
    return RETRY_MS;
  }

  #end(check: StoredCheck, state: "done" | "failed"): void {
    const finishedAt = this.#runtime.now();
    // Blocks were issued while it ran.
    const blocksTotal = Math.max(check.blocksTotal, check.blocksChecked);
    this.#commit(check, (current) => ({ ...current, state, finishedAt, blocksTotal }));
  }

  #id({ number }: StoredCheck): string {
    return `${this.#kind.idPrefix}${number}`;
  }

  #view(check: StoredCheck): CheckView {
    const { state, startedAt, finishedAt, problems, repaired, blocksChecked, blocksTotal } = check;
    return {
      id: this.#id(check),
      state,
      startedAt,
      ...(finishedAt === undefined ? {} : { finishedAt }),
      problems,
      repaired,
      blocksChecked,
      blocksTotal,
    };
  }
}
