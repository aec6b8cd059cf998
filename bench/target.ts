/**
 * The service as a harness speaks to it, for what must succeed and is not timed.
 * May import: Node, the books. Rule: what is timed is sent by the processes in generator/.
 */
import { Agent, request } from "node:http";
import { allocationsIn, Ledger } from "./generator/books.ts";
import { VARIANT_HEADER } from "./generator/plan.ts";

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** How often a request that may be repeated is sent, a second apart. */
const TRIES = 30;

export class Target {
  readonly url: string;
  /** What was acknowledged and not released, if whoever else sends enters it, too. */
  readonly ledger = new Ledger();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 128 });

  constructor(url: string) {
    this.url = url;
  }

  send(method: string, path: string, body?: object, key?: string): Promise<Answer> {
    return new Promise((settle, fail) => {
      const headers = {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(key === undefined ? {} : { "Idempotency-Key": key }),
        ...(path.startsWith("/bench/") ? { [VARIANT_HEADER]: "own" } : {}),
      };
      const sent = request(`${this.url}${path}`, { method, agent: this.#agent, headers }, (answer) => {
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
      if (status < 300) {
        if (path.startsWith("/v1/allocations")) this.ledger.enter({ given: allocationsIn(text), freed: [] });
        return;
      }
      if (status !== 503 || left === 0) {
        throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
      }
      await pause(1_000);
    }
  }

  async ask<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, text } = await this.send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }

  /** Sends a batch again, with its keys, where the service was too busy for a part of it. */
  async mustBatch(host: string, items: readonly { readonly key: string; readonly handle: string }[]) {
    let said = "";
    for (let left = TRIES; left > 0; left -= 1) {
      const { status, text } = await this.send("POST", "/v1/allocation-batches", { host, items });
      said = `${status} ${text.slice(0, 300)}`;
      if (status === 200) {
        const { results } = JSON.parse(text) as { results: { status: number; problem?: unknown }[] };
        const failed = results.filter(({ problem }) => problem !== undefined);
        if (failed.length === 0) {
          this.ledger.enter({ given: allocationsIn(text), freed: [] });
          return;
        }
        said = JSON.stringify(failed[0]).slice(0, 300);
        if (failed.some((item) => item.status < 500)) break;
      }
      await pause(1_000);
    }
    throw new Error(`a batch answered ${said}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}

export async function pause(ms: number): Promise<void> {
  await new Promise((settle) => setTimeout(settle, ms));
}

/** Does something for each number, so many at a time; `show` is told how many are done. */
export async function inLots(
  count: number,
  clients: number,
  work: (number: number) => Promise<void>,
  show: (done: number) => void = () => undefined,
): Promise<void> {
  let begun = 0;
  let done = 0;
  const client = async (): Promise<void> => {
    while (begun < count) {
      const number = begun;
      begun += 1;
      await work(number);
      done += 1;
      show(done);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}
