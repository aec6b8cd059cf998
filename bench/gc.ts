/**
 * The leak collector with 2,000 hosts and 60,000 addresses, of which 3,000 leak: what it takes, and what it
 * takes from those who allocate. May import: the other files here. The clock is moved; the work is real.
 */
import { BRAKE_LIMITS } from "../src/core/leak-brakes.ts";
import { LEAK_GRACE_SECONDS_DEFAULT } from "../src/core/leak-policy.ts";
import { sweepPeriodMs } from "../src/core/leak-status.ts";
import { compareLatency } from "./gc-latency.ts";
import { type Service, withService } from "./service.ts";
import { type Column, head, line, Progress } from "./table.ts";
import { inLots, pause, type Target } from "./target.ts";

const HOSTS = Number(process.env.BENCH_HOSTS ?? 2_000);
const PER_HOST = 30;
/** Pods that go on every second host without a word. */
const LEAKS_PER_HOST = 3;
const LEAKS = Math.ceil(HOSTS / 2) * LEAKS_PER_HOST;
const CLIENTS = 8;
/** Hosts that go on allocating. */
const BUSY_HOSTS = 16;
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

/** Prints what each step of the collector takes, and how allocations fare meanwhile. */
export async function benchGc(): Promise<boolean> {
  const settings = { leaseMs: 10_000 };
  const vars = { TEST_ALARMS: "moved", TEST_SETTINGS: JSON.stringify(settings) };
  await withService((service) => new Collector(service).run(), { entry: TEST_ENTRY, vars });
  return true;
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
  readonly #service: Service;
  #sequence = 0;
  #offsetMs = 0;
  /** Suspicions as the agents were told in their last round. */
  #open = 0;

  constructor(service: Service) {
    this.#target = service.target;
    this.#service = service;
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
    console.log(`Memory of workerd: ${this.#service.memory().toFixed(0)} MiB.\n`);
    await compareLatency(this.#target.url, BUSY_HOSTS, () => this.#sweep());
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
    const one = async (host: number): Promise<void> => {
      await this.#register(nameOf(host));
      const items = Array.from({ length: PER_HOST }, (_, pod) => {
        const name = podOf(host, pod);
        const attributes = { namespace: "web", pod: name };
        return { key: `${name}.key`, handle: `net.${name}`, ipv4: { count: 1 }, attributes };
      });
      await this.#target.mustBatch(nameOf(host), items);
    };
    await inLots(HOSTS, CLIENTS, one, (done) => progress.show(done));
  }

  /** Every agent reports what lives on its host. */
  async #reports(isBefore: boolean): Promise<void> {
    this.#sequence += 1;
    let open = 0;
    const progress = new Progress("reports", HOSTS);
    const one = async (host: number): Promise<void> => {
      const gone = !isBefore && host % 2 === 0 ? LEAKS_PER_HOST : 0;
      const living = Array.from({ length: PER_HOST - gone }, (_, pod) => podOf(host, pod + gone));
      const workloads = living.map((pod) => {
        return { handle: `net.${pod}`, namespace: "web", pod, addresses: [] };
      });
      const report = { incarnation: "one", sequence: this.#sequence, ageMs: 0, complete: true, workloads };
      const path = `/v1/hosts/${nameOf(host)}/workloads`;
      const { leaks } = await this.#target.ask<{ leaks: Leaks }>("PUT", path, report);
      open += leaks.candidates + leaks.confirmed + leaks.held;
    };
    await inLots(HOSTS, CLIENTS, one, (done) => progress.show(done));
    this.#open = open;
  }

  async #sweep(): Promise<void> {
    const { sweep } = await this.#target.ask<{ sweep: number }>("POST", "/v1/gc/sweeps");
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

  /** Does one step and prints what it took; returns its seconds. */
  async #row(name: string, work: () => Promise<void>): Promise<number> {
    const [before, openBefore] = [await this.#counted(), this.#open];
    const processorBefore = this.#service.processor();
    const beganAt = performance.now();
    await work();
    const seconds = (performance.now() - beganAt) / 1000;
    const taken = this.#service.processor() - processorBefore;
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
    const { calls, rowsWritten, commits } = await this.#target.ask<Record<string, Counts>>(
      "GET",
      "/test/counters",
    );
    const sum = (counts: Counts = {}) => Object.values(counts).reduce((all, one) => all + one, 0);
    const sweepEvents = calls?.["sweep.alarm"] ?? 0;
    return { calls: sum(calls), rows: sum(rowsWritten), commits: sum(commits), sweepEvents };
  }

  async #gc(): Promise<Gc> {
    return await this.#target.ask<Gc>("GET", "/v1/gc");
  }

  /** Minutes go by. */
  async #move(minutes: number): Promise<void> {
    this.#offsetMs += minutes * MINUTE;
    await this.#target.ask("POST", "/test/clock", { offsetMs: this.#offsetMs });
  }
}

const nameOf = (host: number): string => `gc-${host}`;
const podOf = (host: number, pod: number): string => `gc-${host}-${pod}`;
