/**
 * A service that is killed at a chosen call of a chosen object, and what its clients saw of it.
 * May import: the test client, the recorder. Rule: each history has a pool of its own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCheck } from "../../crash/verdict.ts";
import { type Fault, setFaults, untilFaulty } from "../../support/control.ts";
import { checkHistory, type Tenure } from "../../support/history.ts";
import { checkLimits } from "../../support/history-policy.ts";
import { HttpClient, type WireAllocation } from "../../support/http-client.ts";
import { type Service, startService } from "../../support/service.ts";
import { checkAgreement, takePicture } from "../load/agreement.ts";
import { pause, Recorder, tenureOf, type Wish } from "../load/recorder.ts";

/** Longer than anything waits: who stands here is killed. */
export const FOREVER_MS = 60_000;
/** Until a message that left before can no longer arrive: 2 s and the clocks' difference. */
export const FINAL_MS = 2_200;
/** How long what must come about may take. */
const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 100;

/** Where a call is cut: before it arrives, or when it is done and its answer is not there yet. */
export function cutAt(method: string, where: "before" | "after"): Fault {
  return where === "before" ? { method, delayMs: FOREVER_MS } : { method, heldMs: FOREVER_MS };
}

export class Stage {
  readonly service: Service;
  readonly client: HttpClient;
  readonly recorder: Recorder;
  readonly hosts: readonly string[];
  readonly #dataDir: string;
  #keys = 0;

  private constructor(service: Service, dataDir: string, hosts: readonly string[]) {
    this.service = service;
    this.#dataDir = dataDir;
    this.client = new HttpClient(() => service.url, 80);
    this.recorder = new Recorder(this.client);
    this.hosts = hosts;
  }

  /** `vars` are read again at each start of the service. */
  static async open(
    hosts: readonly string[],
    settings: object = {},
    vars: Record<string, string> = {},
  ): Promise<Stage> {
    const dataDir = mkdtempSync(join(tmpdir(), "edge-ipam-history-"));
    vars.TEST_SETTINGS = JSON.stringify({ reclaimAgeMs: 500, reportMs: 500, ...settings });
    const service = await startService({ dataDir, entry: "test/support/entry.ts", vars });
    const stage = new Stage(service, dataDir, hosts);
    for (const host of hosts) await stage.client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
    return stage;
  }

  async close(): Promise<void> {
    this.client.close();
    await this.service.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  /** A pool that only those use who name it: all requests here do. */
  async pool(name: string, cidr: string, blockSize: number): Promise<void> {
    await this.client.must("PUT", `/v1/pools/${name}`, { cidr, blockSize });
  }

  /** A request with a key of its own for addresses of a pool. */
  wish(pool: string, host = this.hosts[0] ?? "", count = 1): Wish {
    this.#keys += 1;
    const handle = `${pool}.${this.#keys}`;
    return { host, handle, key: `${handle}-key`, more: { ipv4: { count, pools: [pool] } } };
  }

  /** A request for one address of each family. */
  dualWish(pool: string, poolOfSix: string, host?: string): Wish {
    const wish = this.wish(pool, host);
    return { ...wish, more: { ...wish.more, ipv6: { count: 1, pools: [poolOfSix] } } };
  }

  /** Begins something, kills the service so long after a call stands at the cut, and starts it again. */
  async cut(fault: Fault, begin: () => Promise<unknown>, laterMs = 0): Promise<void> {
    await setFaults(this.client, [fault]);
    const begun = begin().catch(() => undefined);
    await untilFaulty(this.client);
    await pause(laterMs);
    await this.service.kill();
    await begun;
    await this.service.restart();
  }

  /** The same with hosts alone: they are ended with all that they have under way, the others go on. */
  async cutHosts(fault: Fault, begin: () => Promise<unknown>): Promise<void> {
    await setFaults(this.client, [fault]);
    const begun = begin();
    await untilFaulty(this.client);
    for (const host of this.hosts) await this.recorder.endObject("host", host);
    await begun;
    await setFaults(this.client, []);
  }

  /** Begins something and kills the service so many ms later. */
  async cutLater(ms: number, begin: () => Promise<unknown>): Promise<void> {
    const begun = begin().catch(() => undefined);
    await pause(ms);
    await this.service.kill();
    await this.service.restart();
    await begun;
  }

  async held(handle: string): Promise<Tenure[]> {
    const { items = [] } = await this.client.must("GET", `/v1/handles/${handle}`);
    return (items as WireAllocation[]).filter(({ state }) => state === "allocated").map(tenureOf);
  }

  async heldInPool(pool: string): Promise<Tenure[]> {
    return (await this.client.all<WireAllocation>(`/v1/allocations?pool=${pool}`)).map(tenureOf);
  }

  /** Looks until something is so. */
  async until(what: string, look: () => Promise<boolean>): Promise<void> {
    for (let waited = 0; waited < WITHIN_MS; waited += LOOK_EVERY_MS) {
      if (await look()) return;
      await pause(LOOK_EVERY_MS);
    }
    throw new Error(`it does not come about: ${what}`);
  }

  /** What the history of all requests so far contradicts, where cooldowns were shortened by so much. */
  async violations({ cooldownMs = 0, shortenedMs = 0 } = {}): Promise<string[]> {
    await pause(FINAL_MS);
    const final = (await this.client.all<WireAllocation>("/v1/allocations")).map(tenureOf);
    const { history } = this.recorder;
    return [...checkHistory(history, { final, cooldownMs, shortenedMs }), ...checkLimits(history, final)].map(
      ({ invariant, text }) => `${invariant}: ${text}`,
    );
  }

  /** One check with repair, then: what a second finds, and what contradicts itself. */
  async disagreements(): Promise<string[]> {
    await pause(FINAL_MS);
    const mended = await runCheck(this.client, true);
    const again = await runCheck(this.client, false);
    const left = mended.problems - mended.repaired;
    return [
      ...(left === 0 ? [] : [`one repair left ${left}: ${mended.text.join("; ")}`]),
      ...again.text,
      ...(await checkAgreement(this.client, await takePicture(this.client, this.hosts))),
    ];
  }
}
