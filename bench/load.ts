/**
 * A load of so many clients for so long, over HTTP on loopback, and what came of it.
 * May import: Node. Rule: bounded in time; the generator's own share of a core is always told.
 */
import { Agent, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Units: requests per second, milliseconds, shares of one core. */
export interface Measurement {
  readonly requests: number;
  readonly failed: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly generatorShare: number;
}

/** One request of a client: the count rises through the whole run. */
export type Call = (client: number, count: number) => Promise<Answer>;

/** How often a request with a key is repeated, a second apart. */
const TRIES = 30;

export class Target {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 128 });

  constructor(url: string) {
    this.#url = url;
  }

  send(method: string, path: string, body?: object, key?: string): Promise<Answer> {
    return new Promise((settle, fail) => {
      const headers = {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(key === undefined ? {} : { "Idempotency-Key": key }),
      };
      const sent = request(`${this.#url}${path}`, { method, agent: this.#agent, headers }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        answer.once("end", () => settle({ status: answer.statusCode ?? 0, text }));
      });
      sent.once("error", fail);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** For what must succeed; with a key it is sent again where the service, or the disk, was too busy. */
  async mustSend(method: string, path: string, body?: object, key?: string): Promise<void> {
    for (let left = key === undefined ? 0 : TRIES; ; left -= 1) {
      const { status, text } = await this.send(method, path, body, key);
      if (status < 300) return;
      if (status !== 503 || left === 0) {
        throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
      }
      await new Promise((settle) => setTimeout(settle, 1_000));
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

let count = 0;

/** Runs so many clients, each with one request at a time, for so many seconds. */
export async function measure(call: Call, clients: number, seconds: number): Promise<Measurement> {
  const times: number[] = [];
  let failed = 0;
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1000;
  const client = async (number: number): Promise<void> => {
    while (performance.now() < end) {
      const sentAt = performance.now();
      count += 1;
      const { status } = await call(number, count);
      if (status >= 300) failed += 1;
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  times.sort((one, other) => one - other);
  const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
  return {
    requests: times.length,
    failed,
    perSecond: (times.length * 1000) / elapsedMs,
    p50: at(0.5),
    p99: at(0.99),
    generatorShare: (user + system) / 1000 / elapsedMs,
  };
}

/** The middle one. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
