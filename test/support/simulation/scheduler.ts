/**
 * Owns virtual time and the order of everything that happens: one job at a time, then all
 * microtasks, then the end of the turn for each instance that took part.
 * May import: node timers only. Nothing else may make an object's code go on.
 */

/** What a job stands for; `run()` decides by it whether time may be moved on. */
export type JobKind = "message" | "sync" | "timer" | "alarm";

export interface Job {
  readonly at: number;
  readonly order: number;
  readonly kind: JobKind;
  readonly label: Label;
  readonly run: () => void;
  cancelled: boolean;
}

/** One line for the trace: short, and the same for every job of its sort; and what tells it from those. */
export interface Label {
  readonly sort: string;
  readonly detail?: () => string;
}

/** An instance that takes part in a turn: it commits and sends when the turn ends. */
export interface Participant {
  endTurn(label: Label): void;
}

/** Thrown when a simulation contradicts its own rules; never by a simulated fault. */
export class SimulationError extends Error {
  override readonly name = "SimulationError";
}

/** How far a run goes. */
export interface RunLimits {
  /** Do nothing that is due later than so many milliseconds from now. */
  withinMs?: number;
  /** More steps than this are an endless loop. */
  stepsMax?: number;
}

const KEPT_TRACE = 400;
const STEPS_MAX = 100_000;

export class Scheduler {
  /** Virtual milliseconds since 1970, with fractions. */
  now: number;
  /** Steps done so far. */
  steps = 0;
  /** A digest of the whole trace: equal for equal runs. */
  digest = 0x811c9dc5;
  /** The last lines of what happened. */
  readonly trace: string[] = [];
  /** Told each line of the trace; a run without it and without trace is faster. */
  onLine: ((line: string) => void) | undefined;
  readonly #heap: Job[] = [];
  readonly #waiting: Record<JobKind, number> = { message: 0, sync: 0, timer: 0, alarm: 0 };
  #order = 0;
  #turn: Set<Participant> | undefined;
  #lastRun: Promise<void> = Promise.resolve();
  readonly #isTraced: boolean;

  constructor(start: number, isTraced = true) {
    this.now = start;
    this.#isTraced = isTraced;
  }

  /** Puts a job into the queue; equal times keep the order of entry. */
  at(time: number, kind: JobKind, label: Label, run: () => void): Job {
    const job = { at: Math.max(time, this.now), order: this.#order++, kind, label, run, cancelled: false };
    this.#waiting[kind]++;
    this.#push(job);
    return job;
  }

  after(delay: number, kind: JobKind, label: Label, run: () => void): Job {
    return this.at(this.now + delay, kind, label, run);
  }

  cancel(job: Job | undefined): void {
    if (job === undefined || job.cancelled) return;
    job.cancelled = true;
    this.#waiting[job.kind]--;
  }

  /** Counts the jobs of a kind that are still to come. */
  waiting(kind: JobKind): number {
    return this.#waiting[kind];
  }

  /** Returns the next job without running it. */
  peek(): Job | undefined {
    while (this.#heap[0]?.cancelled) this.#pop();
    return this.#heap[0];
  }

  /** Runs the next job to the end of its turn; false when there is none. */
  async step(): Promise<boolean> {
    const job = this.peek();
    if (job === undefined) return false;
    await new Promise<void>((resolve, reject) => this.#turnOf(job, resolve, reject));
    return true;
  }

  /**
   * Runs jobs while there is something to go on for; runs that overlap go one after another.
   * Rejects: a run that finds no end.
   */
  runWhile(goesOn: () => boolean, limits: RunLimits, report: () => string): Promise<void> {
    const run = this.#lastRun.then(() => this.#runWhile(goesOn, limits, report));
    this.#lastRun = run.catch(() => {});
    return run;
  }

  /**
   * Enters an instance into the running turn.
   * Rejects: work outside any turn, i.e. an object that waited for something real (a timer, a
   * digest, a file) that the scheduler does not own.
   */
  enter(participant: Participant, what: string, where = ""): void {
    if (this.#turn === undefined) {
      throw new SimulationError(
        `${what} ${where} happened outside a turn: an object waited for something real`,
      );
    }
    this.#turn.add(participant);
  }

  /** Adds a line to the trace and to its digest. */
  note(line: string): void {
    if (!this.#isTraced) return;
    const full = `${this.now.toFixed(3)} ${line}`;
    for (let i = 0; i < full.length; i++) {
      this.digest = Math.imul(this.digest ^ full.charCodeAt(i), 0x01000193) >>> 0;
    }
    this.onLine?.(full);
    this.trace.push(full);
    if (this.trace.length > 2 * KEPT_TRACE) this.trace.splice(0, KEPT_TRACE);
  }

  #runWhile(goesOn: () => boolean, limits: RunLimits, report: () => string): Promise<void> {
    const { withinMs = Number.POSITIVE_INFINITY, stepsMax = STEPS_MAX } = limits;
    const last = this.now + withinMs;
    let steps = 0;
    return new Promise((resolve, reject) => {
      const next = (): void => {
        const job = this.peek();
        if (job === undefined || job.at > last || !goesOn()) {
          resolve();
        } else if (steps >= stepsMax) {
          reject(new SimulationError(`not quiet after ${steps} steps\n${report()}`));
        } else {
          steps++;
          this.#turnOf(job, next, reject);
        }
      };
      next();
    });
  }

  /** Runs one job; all its microtasks have ended when the platform comes to the callback. */
  #turnOf(job: Job, done: () => void, failed: (reason: unknown) => void): void {
    if (this.#turn !== undefined) throw new SimulationError("a step was asked for within a step");
    this.#pop();
    this.cancel(job);
    this.now = job.at;
    this.steps++;
    if (this.#isTraced) this.note(textOf(job.label));
    const turn = new Set<Participant>();
    this.#turn = turn;
    const attempt = (work: () => void): boolean => {
      try {
        work();
        return true;
      } catch (thrown) {
        this.#turn = undefined;
        failed(thrown);
        return false;
      }
    };
    if (!attempt(job.run)) return;
    setImmediate(() => {
      const isOver = attempt(() => {
        for (const participant of turn) participant.endTurn(job.label);
      });
      if (!isOver) return;
      this.#turn = undefined;
      attempt(done);
    });
  }

  #push(job: Job): void {
    const heap = this.#heap;
    let child = heap.push(job) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(job, heap[parent] as Job)) break;
      heap[child] = heap[parent] as Job;
      child = parent;
    }
    heap[child] = job;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Job, heap[child] as Job)) child++;
      if (!before(heap[child] as Job, last)) break;
      heap[parent] = heap[child] as Job;
      parent = child;
    }
    heap[parent] = last;
  }
}

function before(a: Job, b: Job): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

export function textOf({ sort, detail }: Label): string {
  return detail?.() ?? sort;
}
