/**
 * The processes that send the load, and the sum of what they tell.
 * May import: Node, the files here. Rule: their share of a core is always told; they end with the harness.
 */
import { type ChildProcess, fork } from "node:child_process";
import type { Books, Job, Outcome, Plan } from "./plan.ts";

const WORKER = new URL("worker.ts", import.meta.url).pathname;
/** How long after its time a job is given up. */
const LATE_MS = 60_000;

/** Units: operations per second, milliseconds, shares of one core. */
export interface Measurement {
  readonly operations: number;
  /** The first number that was not taken. */
  readonly next: number;
  readonly failed: number;
  readonly fault?: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The busiest process's share of a core. */
  readonly share: number;
  readonly books: Books;
}

export interface Load {
  readonly url: string;
  readonly plan: Plan;
  readonly clients: number;
  readonly seconds: number;
  /** The first of the numbers that the operations take. */
  readonly from: number;
  readonly limit?: number;
}

export class Fleet {
  readonly #workers: ChildProcess[];

  constructor(processes: number) {
    this.#workers = Array.from({ length: processes }, () =>
      fork(WORKER, [], {
        serialization: "advanced",
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        execArgv: [],
      }),
    );
  }

  /** Runs a load, its clients shared among the processes. */
  async run(load: Load): Promise<Measurement> {
    const used = this.#workers.slice(0, load.clients);
    const stride = used.length;
    let firstClient = 0;
    const outcomes = used.map((worker, index) => {
      const clients = share(load.clients, stride, index);
      const limit = load.limit === undefined ? {} : { limit: share(load.limit, stride, index) };
      const job = { ...load, ...limit, clients, firstClient, from: load.from + index, stride };
      firstClient += clients;
      return send(worker, job);
    });
    return merge(await Promise.all(outcomes), load.from);
  }

  close(): void {
    for (const worker of this.#workers) worker.disconnect();
  }
}

/** What one of several gets of a number; the first get the rest. */
function share(total: number, among: number, index: number): number {
  return Math.floor(total / among) + (index < total % among ? 1 : 0);
}

function send(worker: ChildProcess, job: Job): Promise<Outcome> {
  return new Promise((settle, fail) => {
    const done = () => {
      clearTimeout(late);
      worker.off("message", take).off("exit", gone);
    };
    const take = (told: { outcome?: Outcome; error?: string }): void => {
      done();
      if (told.outcome === undefined) fail(new Error(told.error));
      else settle(told.outcome);
    };
    const gone = (): void => {
      done();
      fail(new Error("a process of the load ended"));
    };
    const late = setTimeout(
      () => {
        done();
        fail(new Error(`a load did not end ${LATE_MS / 1000} s after its time`));
      },
      job.seconds * 1000 + LATE_MS,
    );
    worker.on("message", take).once("exit", gone);
    worker.send(job);
  });
}

function merge(outcomes: readonly Outcome[], from: number): Measurement {
  const times = Float64Array.from(outcomes.flatMap((one) => [...one.times])).sort();
  const at = (part: number): number => times[Math.floor((times.length - 1) * part)] ?? 0;
  const fault = outcomes.find((one) => one.fault !== undefined)?.fault;
  const elapsedMs = Math.max(...outcomes.map((one) => one.elapsedMs));
  return {
    operations: times.length,
    next: from + outcomes.length * Math.max(...outcomes.map((one) => one.times.length)),
    failed: outcomes.reduce((sum, { failed }) => sum + failed, 0),
    ...(fault === undefined ? {} : { fault }),
    perSecond: (times.length * 1000) / elapsedMs,
    p50: at(0.5),
    p99: at(0.99),
    share: Math.max(...outcomes.map((one) => one.cpuMs / one.elapsedMs)),
    books: {
      given: outcomes.flatMap(({ books }) => books.given),
      freed: outcomes.flatMap(({ books }) => books.freed),
    },
  };
}

/** The middle one; of none, not a number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[sorted.length % 2 === 0 ? half - 1 : half], sorted[half]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
