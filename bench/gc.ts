/**
 * The leak collector with 2,000 hosts and 60,000 addresses, of which 3,000 leak: what it takes, and what it
 * takes from those who allocate. May import: the other files here. The clock is moved; the work is real.
 */
import { BRAKE_LIMITS } from "../src/core/leak-brakes.ts";
import { LEAK_GRACE_SECONDS_DEFAULT } from "../src/core/leak-policy.ts";
import { sweepPeriodMs } from "../src/core/leak-status.ts";
import { type Measurement, measure, median, type Target } from "./load.ts";
import { withService } from "./service.ts";
import { type Column, head, line, Progress } from "./table.ts";

const HOSTS = Number(process.env.BENCH_HOSTS ?? 2_000);
const PER_HOST = 30;
/** Pods that go on every second host without a word. */
const LEAKS_PER_HOST = 3;
const LEAKS = Math.ceil(HOSTS / 2) * LEAKS_PER_HOST;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const CLIENTS = 8;
/** Hosts that go on allocating. */
const BUSY_HOSTS = 16;
const TRIES = 30;
/** Looking for the end costs little beside the sweep itself. */
const POLL_MS = 500;
const POLLS_MAX = 1_200;
const MINUTE = 60_000;
const PERIOD_S = sweepPeriodMs(LEAK_GRACE_SECONDS_DEFAULT * 1000) / 1000;
const TEST_ENTRY = new URL("../test/support/entry.ts", import.meta.url).pathname;

const COLUMNS: readonly Column[] = [
  { title: "what", width: 29 },
  { title: "s", width: 6, digits: 1 },
  { title: "cpu s", width: 6, digits: 1 },
  { title: "calls", width: 7, digits: 0 },
  { title: "/host", width: 5, digits: 1 },
  { title: "rows", width: 7, digits: 0 },
  { title: "commits", width: 7, digits: 0 },
  { title: "freed/s", width: 7, digits: 0 },
];

const LATENCY: readonly Column[] = [
  { title: "one address, 1 client", width: 24 },
  { title: "p50 ms", width: 8, digits: 2 },
  { title: "p99 ms", width: 8, digits: 1 },
  { title: "per s", width: 8, digits: 0 },
  { title: "p50 ratio", width: 9, digits: 2 },
  { title: "failed", width: 6, digits: 0 },
];

/** Prints what each step of the collector takes, and how allocations fare meanwhile. */
export async function benchGc(): Promise<void> {
  const settings = { leaseMs: 10_000 };
  const vars = { TEST_ALARMS: "moved", TEST_SETTINGS: JSON.stringify(settings) };
  const work = (...service: ConstructorParameters<typeof Collector>) => new Collector(...service).run();
  await withService(work, { entry: TEST_ENTRY, vars });
}

/** What all objects did by now. */
interface Counted {
  readonly calls: number;
  readonly rows: number;
  readonly commits: number;
  readonly sweepEvents: number;
}

interface Leaks {
  readonly candidates: number;
  readonly confirmed: number;
  readonly held: number;
}

interface Gc extends Leaks {
  readonly state: string;
  readonly sweep: number;
  readonly backlogHosts: number;
  readonly releasedLastHour: number;
  readonly breaker: { readonly open: boolean };
}

class Collector {
  readonly #target: Target;
  readonly #memory: () => number;
  /** Seconds of processors that workerd has taken. */
  readonly #processor: () => number;
  #sequence = 0;
  #offsetMs = 0;
  #handles = 0;
  /** Suspicions as the agents were told in their last round. */
  #open = 0;

  constructor(target: Target, memory: () => number, processor: () => number) {
    this.#target = target;
    this.#memory = memory;
    this.#processor = processor;
  }

  async run(): Promise<void> {
    await this.#prepare();
    console.log(`${HOSTS} hosts with ${PER_HOST} addresses each; on every second ${LEAKS_PER_HOST} leak.`);
    console.log("Calls and rows (written) are those of all objects, as they count them.\n");
    console.log(head(COLUMNS));
    await this.#row("fill", () => this.#fill());
    await this.#move(3);
    await this.#row("reports, all is well", () => this.#reports(true));
    await this.#move(3);
    const sweepSeconds = await this.#row("sweep, all is well", () => this.#sweep());
    await this.#row("reports, some pods are gone", () => this.#reports(false));
    await this.#move(5);
    await this.#row("reports, nothing new", () => this.#reports(false));
    await this.#move(12);
    await this.#row("reports that confirm", () => this.#reports(false));
    await this.#move(1);
    await this.#row("reports that release", () => this.#reports(false));
    // What the bucket held back goes with the reports that come next.
    await this.#move(3);
    await this.#row("reports, the rest", () => this.#reports(false));
    await this.#row("sweep afterwards", () => this.#sweep());
    await this.#check();
    const share = ((sweepSeconds * 100) / PERIOD_S).toFixed(1);
    console.log(`\nA sweep lasts ${share} % of its period of ${PERIOD_S} s; at most`);
    console.log(`${BRAKE_LIMITS.releasesPerMinute} addresses are released in a minute.`);
    console.log(`Memory of workerd: ${this.#memory().toFixed(0)} MiB.\n`);
    await this.#compareLatency();
  }

  async #prepare(): Promise<void> {
    await this.#target.mustSend("PUT", "/v1/pools/gc", { cidr: "10.64.0.0/10", blockSize: 26 });
    for (let host = 0; host < BUSY_HOSTS; host += 1) await this.#register(`busy-${host}`);
  }

  async #register(host: string): Promise<void> {
    await this.#target.mustSend("PUT", `/v1/hosts/${host}`, { labels: {}, incarnation: "one" });
  }

  async #fill(): Promise<void> {
    const progress = new Progress("filling", HOSTS);
    await inLots(HOSTS, async (host, done) => {
      await this.#register(nameOf(host));
      const items = Array.from({ length: PER_HOST }, (_, pod) => {
        const name = podOf(host, pod);
        const attributes = { namespace: "web", pod: name };
        return { key: `${name}.key`, handle: `net.${name}`, ipv4: { count: 1 }, attributes };
      });
      await this.#batch({ host: nameOf(host), items });
      progress.show(done);
    });
  }

  /** Sends a batch again, with its keys, where the service was too busy for a part of it. */
  async #batch(body: object): Promise<void> {
    let said = "";
    for (let left = TRIES; left > 0; left -= 1) {
      const { status, text } = await this.#target.send("POST", "/v1/allocation-batches", body);
      said = `${status} ${text.slice(0, 300)}`;
      if (status === 200 && !text.includes('"problem"')) return;
      await pause(1_000);
    }
    throw new Error(`a batch answered ${said}`);
  }

  /** Every agent reports what lives on its host. */
  async #reports(isBefore: boolean): Promise<void> {
    this.#sequence += 1;
    let open = 0;
    const progress = new Progress("reports", HOSTS);
    await inLots(HOSTS, async (host, done) => {
      const gone = !isBefore && host % 2 === 0 ? LEAKS_PER_HOST : 0;
      const living = Array.from({ length: PER_HOST - gone }, (_, pod) => podOf(host, pod + gone));
      const workloads = living.map((pod) => {
        return { handle: `net.${pod}`, namespace: "web", pod, addresses: [] };
      });
      const report = { incarnation: "one", sequence: this.#sequence, ageMs: 0, complete: true, workloads };
      const path = `/v1/hosts/${nameOf(host)}/workloads`;
      const { leaks } = await this.#ask<{ leaks: Leaks }>("PUT", path, report);
      open += leaks.candidates + leaks.confirmed + leaks.held;
      progress.show(done);
    });
    this.#open = open;
  }

  async #sweep(): Promise<void> {
    const { sweep } = await this.#ask<{ sweep: number }>("POST", "/v1/gc/sweeps");
    for (let poll = 0; poll < POLLS_MAX; poll += 1) {
      const gc = await this.#gc();
      if (gc.sweep >= sweep && gc.state !== "running" && gc.backlogHosts === 0) return;
      await pause(POLL_MS);
    }
    throw new Error("the sweep does not end");
  }

  /** All leaks are gone, and nothing else. */
  async #check(): Promise<void> {
    const { candidates, confirmed, held, releasedLastHour, breaker } = await this.#gc();
    const open = candidates + confirmed + held;
    if (open > 0 || releasedLastHour !== LEAKS || breaker.open) {
      throw new Error(`released ${releasedLastHour} of ${LEAKS}, ${open} are left`);
    }
  }

  /** Allocations with and without sweeps that follow each other, in turn. */
  async #compareLatency(): Promise<void> {
    const [quiet, swept]: [Measurement[], Measurement[]] = [[], []];
    await measure(() => this.#allocate(), 1, SECONDS);
    const progress = new Progress("allocating", 2 * ROUNDS);
    let sweeps = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      quiet.push(await measure(() => this.#allocate(), 1, SECONDS));
      progress.show(2 * round + 1);
      let isOver = false;
      const sweeping = (async () => {
        while (!isOver) {
          await this.#sweep();
          sweeps += 1;
        }
      })();
      swept.push(await measure(() => this.#allocate(), 1, SECONDS));
      isOver = true;
      await sweeping;
      progress.show(2 * round + 2);
    }
    const of = (all: readonly Measurement[], what: keyof Measurement) => median(all.map((one) => one[what]));
    const failed = (all: readonly Measurement[]) => all.reduce((sum, one) => sum + one.failed, 0);
    console.log(head(LATENCY));
    for (const [name, all] of [
      ["without a sweep", quiet],
      ["sweep after sweep", swept],
    ] as const) {
      const p50 = of(all, "p50");
      const ratio = p50 / of(quiet, "p50");
      console.log(line(LATENCY, [name, p50, of(all, "p99"), of(all, "perSecond"), ratio, failed(all)]));
    }
    console.log(`(medians of ${ROUNDS} rounds of ${SECONDS} s in turn; ${sweeps} sweeps)`);
  }

  async #allocate() {
    this.#handles += 1;
    const handle = `busy.${this.#handles}`;
    const host = `busy-${this.#handles % BUSY_HOSTS}`;
    return await this.#target.send("POST", "/v1/allocations", { host, handle, ipv4: { count: 1 } });
  }

  /** Does one step and prints what it took; returns its seconds. */
  async #row(name: string, work: () => Promise<void>): Promise<number> {
    const [before, openBefore] = [await this.#counted(), this.#open];
    const processorBefore = this.#processor();
    const beganAt = performance.now();
    await work();
    const seconds = (performance.now() - beganAt) / 1000;
    const taken = this.#processor() - processorBefore;
    const after = await this.#counted();
    const calls = after.calls - before.calls;
    const freed = this.#open < openBefore ? (openBefore - this.#open) / seconds : undefined;
    const [rows, commits] = [after.rows - before.rows, after.commits - before.commits];
    const events = after.sweepEvents - before.sweepEvents;
    const text = name.startsWith("sweep") ? `${name}, ${events} slices` : name;
    console.log(line(COLUMNS, [text, seconds, taken, calls, calls / HOSTS, rows, commits, freed]));
    return seconds;
  }

  async #counted(): Promise<Counted> {
    type Counts = Readonly<Record<string, number>>;
    const { calls, rowsWritten, commits } = await this.#ask<Record<string, Counts>>("GET", "/test/counters");
    const sum = (counts: Counts = {}) => Object.values(counts).reduce((all, one) => all + one, 0);
    const sweepEvents = calls?.["sweep.alarm"] ?? 0;
    return { calls: sum(calls), rows: sum(rowsWritten), commits: sum(commits), sweepEvents };
  }

  async #gc(): Promise<Gc> {
    return await this.#ask<Gc>("GET", "/v1/gc");
  }

  /** Minutes go by. */
  async #move(minutes: number): Promise<void> {
    this.#offsetMs += minutes * MINUTE;
    await this.#ask("POST", "/test/clock", { offsetMs: this.#offsetMs });
  }

  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, text } = await this.#target.send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }
}

const nameOf = (host: number): string => `gc-${host}`;
const podOf = (host: number, pod: number): string => `gc-${host}-${pod}`;

async function pause(ms: number): Promise<void> {
  await new Promise((settle) => setTimeout(settle, ms));
}

/** Does something for each number, so many at a time. */
async function inLots(count: number, work: (number: number, done: number) => Promise<void>): Promise<void> {
  let begun = 0;
  let done = 0;
  const client = async (): Promise<void> => {
    while (begun < count) {
      const number = begun;
      begun += 1;
      await work(number, done + 1);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
