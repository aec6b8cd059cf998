/**
 * A service with pods whose clock a test moves: what agents report, and what operators then see.
 * May import: the test entry's controls, the HTTP client. Rule: all but the clock goes over the API.
 */
import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Settings } from "../../src/core/settings.ts";
import { setClock } from "../support/control.ts";
import { type Service, startService } from "../support/service.ts";
import { type Answer, type Client, clientOf, expectStatus } from "./client.ts";

export const MINUTE = 60;
/** Seconds after which what was handed out can be judged. */
export const SETTLED = 3 * MINUTE;
/** Seconds: more than the grace. */
export const GRACE = 16 * MINUTE;

const SETTINGS = { leaseMs: 1_000, skewMs: 200 };
/** Half a minute at least: a slow machine rests longer between the steps of a sweep. */
const LOOKS_MAX = 600;
const CALLERS = [
  { name: "ops", role: "admin" },
  { name: "eyes", role: "reader" },
  { name: "node-1", role: "agent", host: "node-1" },
  { name: "node-2", role: "agent", host: "node-2" },
];

export interface Stage {
  readonly service: Service;
  readonly ops: Client;
  readonly eyes: Client;
  /** The agent of a host. */
  agent(host: "node-1" | "node-2"): Client;
  /** Lets seconds pass. */
  pass(seconds: number): Promise<void>;
  /** Allocates one address for a pod under `pods.<name>`. */
  pod(host: string, name: string): Promise<string>;
  /** Reports these pods as all that live on a host; each report has the next number. */
  report(host: "node-1" | "node-2", pods: readonly string[]): Promise<Answer["body"]>;
  /** Reports pods that stay alike until what is missing is proven leaked, but for the last report. */
  proveLeaked(host: "node-1" | "node-2", pods: readonly string[]): Promise<void>;
  /** The trigger calls, as cron does; false: all that was to do is done. */
  trigger(): Promise<boolean>;
  /** The trigger calls, and a sweep that begins now meets every host; none runs then. Returns its number. */
  sweep(): Promise<number>;
  until(what: string, isDone: () => Promise<boolean>): Promise<void>;
  /** All pages of a list. */
  all(path: string): Promise<Answer["body"][]>;
  stop(): Promise<void>;
}

/** Starts a service with one pool and two hosts. */
export async function staged(settings: Partial<Settings> = {}): Promise<Stage> {
  const tokens = JSON.stringify(
    CALLERS.map((one) => ({ ...one, sha256: createHash("sha256").update(`t-${one.name}`).digest("hex") })),
  );
  const vars = { TEST_SETTINGS: JSON.stringify({ ...SETTINGS, ...settings }), TEST_ALARMS: "moved" };
  const service = await startService({ entry: "test/support/entry.ts", vars, tokens });
  const [ops, eyes] = [clientOf(service, "t-ops"), clientOf(service, "t-eyes")];
  const must = async (method: string, path: string, body?: unknown): Promise<Answer["body"]> =>
    (await expectStatus(ops(method, path, body), 200, 201, 202)).body;
  await must("PUT", "/v1/pools/default", { cidr: "10.10.0.0/16", blockSize: 26 });
  for (const host of ["node-1", "node-2"]) await must("PUT", `/v1/hosts/${host}`, { labels: {} });
  let seconds = 0;
  const sequences = new Map<string, number>();
  const stage: Stage = {
    service,
    ops,
    eyes,
    agent: (host) => clientOf(service, `t-${host}`),
    async pass(more) {
      seconds += more;
      await setClock({ must }, seconds * 1000);
    },
    async pod(host, name) {
      const attributes = { namespace: "web", pod: name };
      const wish = { host, handle: `pods.${name}`, ipv4: { count: 1 }, attributes };
      return (await must("POST", "/v1/allocations", wish)).allocations[0].address;
    },
    async report(host, pods) {
      const sequence = (sequences.get(host) ?? 0) + 1;
      sequences.set(host, sequence);
      const workloads = pods.map((pod) => ({ handle: `pods.${pod}`, namespace: "web", pod, addresses: [] }));
      const report = { incarnation: "life-1", sequence, ageMs: 0, complete: true, workloads };
      const sent = stage.agent(host)("PUT", `/v1/hosts/${host}/workloads`, report);
      return (await expectStatus(sent, 200)).body;
    },
    async proveLeaked(host, pods) {
      await stage.pass(SETTLED);
      await stage.report(host, pods);
      await stage.pass(GRACE);
      await stage.report(host, pods);
      await stage.pass(MINUTE);
    },
    async trigger() {
      const cron = { kind: "sweep", name: [], method: "tick", request: { source: "cron" } };
      return (await must("POST", "/test/call", cron)).kind !== "nothing_to_do";
    },
    async sweep() {
      // The collector's state is no sign of a sweep: while it is paused, or the breaker is open, it says so.
      const isIdle = async () => !(await stage.trigger());
      // One that runs already may have passed a host before what the test has just done to it.
      await stage.until("the sweep before ends", isIdle);
      await must("POST", "/v1/gc/sweeps");
      await stage.until("the sweep ends", isIdle);
      return (await must("GET", "/v1/gc")).sweep;
    },
    async until(what, isDone) {
      for (let look = 0; look < LOOKS_MAX; look += 1) {
        if (await isDone()) return;
        await setTimeout(50);
      }
      throw new Error(`not done in time: ${what}`);
    },
    async all(path) {
      const items: Answer["body"][] = [];
      let cursor = "";
      for (let page = 0; page < 100; page += 1) {
        const { body } = await expectStatus(eyes("GET", `${path}${cursor}`), 200);
        items.push(...body.items);
        if (body.nextCursor === undefined) return items;
        cursor = `${path.includes("?") ? "&" : "?"}cursor=${body.nextCursor}`;
      }
      throw new Error(`${path} does not end`);
    },
    stop: () => service.stop(),
  };
  return stage;
}
