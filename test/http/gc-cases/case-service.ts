/**
 * The service that a case of the collector is played on, with a clock that stands where the case says.
 * May import: the test entry's controls, the HTTP client. Rule: what the API cannot do is not done here either.
 */
import { setTimeout } from "node:timers/promises";
import type { ClusterAccess } from "../../../src/tools/cluster-access.ts";
import { holdClock, setClock, untilQuiet } from "../../support/control.ts";
import { type Service, startService } from "../../support/service.ts";
import { type Answer, type Client, clientOf } from "../client.ts";

/** Writes of the policy wait for leases. */
const SETTINGS = { leaseMs: 1_000, skewMs: 200 };
const LOOKS_MAX = 400;
const LOOK_EVERY_MS = 100;
const PAGES_MAX = 20;

/** One fresh deployment. */
export class CaseService {
  readonly #service: Service;
  readonly #call: Client;
  /** What second 0 of the case is, milliseconds since 1970. */
  readonly #origin: number;
  readonly #control = {
    must: (method: string, path: string, body?: unknown) => this.must(method, path, body),
  };

  private constructor(service: Service) {
    this.#service = service;
    this.#call = clientOf(service);
    // Cases begin with what is two hours old; the first clock must not lie behind that of the start.
    this.#origin = Date.now() + 3 * 3_600_000;
  }

  static async start(kubernetes?: ClusterAccess): Promise<CaseService> {
    const vars = { TEST_SETTINGS: JSON.stringify(SETTINGS), TEST_ALARMS: "moved" };
    const cluster = kubernetes === undefined ? {} : { kubernetes };
    return new CaseService(await startService({ entry: "test/support/entry.ts", vars, ...cluster }));
  }

  async stop(): Promise<void> {
    await this.#service.stop();
  }

  send(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#call(method, path, body);
  }

  /** Sends what must succeed. */
  async must(method: string, path: string, body?: unknown): Promise<Answer["body"]> {
    const answer = await this.#call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Reads a list to its end. */
  async all(path: string): Promise<Answer["body"][]> {
    const items: Answer["body"][] = [];
    let cursor = "";
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const body = await this.must("GET", `${path}${cursor}`);
      items.push(...body.items);
      if (body.nextCursor === undefined) return items;
      cursor = `${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(body.nextCursor)}`;
    }
    throw new Error(`${path} does not end`);
  }

  /** What a second of the case is, milliseconds since 1970. */
  at(seconds: number): number {
    return this.#origin + Math.round(seconds * 1000);
  }

  /** The clock goes on from a second of the case. */
  async goOnAt(seconds: number): Promise<void> {
    await setClock(this.#control, this.at(seconds) - Date.now());
  }

  /** The clock stands at a second of the case: what is exactly as old as the grace stays so. */
  async standAt(seconds: number): Promise<void> {
    await holdClock(this.#control, this.at(seconds));
  }

  /** Waits for what the service does of its own accord. Rejects: it is not done in a while. */
  async until(what: string, isDone: () => Promise<boolean>): Promise<void> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      if (await isDone()) return;
      await setTimeout(LOOK_EVERY_MS);
    }
    throw new Error(`not done in time: ${what}\n${this.#service.log().slice(-2_000)}`);
  }

  async quiet(): Promise<void> {
    await untilQuiet(this.#control);
  }
}
