/** Services on bare workerd as connections of the conformance cases. */
import { setTimeout } from "node:timers/promises";
import type { ApiAnswer, Connection } from "../conformance/api-connection.ts";
import { portsOf, setFaults, untilQuiet } from "../support/control.ts";
import { type Service, startService } from "../support/service.ts";
import { clientOf } from "./client.ts";

/** Writes of the policy wait for leases; calls end with them, so a busy machine needs longer ones. */
const SETTINGS = { leaseMs: 1_000, skewMs: 200 };

/** More than a message is repeated. */
const REPEATS = 1_000;

/** Fresh services, one per case; cases run beside each other, since most of their time is waiting for leases. */
export class Services {
  readonly #fresh = new Set<Service>();
  #shared: Promise<Service> | undefined;

  /** A service that no case has seen; `end` stops it and removes its data. */
  readonly fresh = async (): Promise<Connection> => {
    const service = await start();
    this.#fresh.add(service);
    return connectionTo(service, async () => {
      this.#fresh.delete(service);
      await service.stop();
    });
  };

  /** One service for all cases that leave no traces that another one could meet. */
  readonly shared = async (): Promise<Connection> => {
    this.#shared ??= start();
    return connectionTo(await this.#shared, async () => {});
  };

  /** Stops what is shared, and what a failed case left running. */
  async stop(): Promise<void> {
    const shared = await this.#shared;
    await Promise.all([...this.#fresh, ...(shared === undefined ? [] : [shared])].map((one) => one.stop()));
  }
}

function start(): Promise<Service> {
  const vars = { TEST_SETTINGS: JSON.stringify(SETTINGS) };
  return startService({ entry: "test/support/entry.ts", vars });
}

function connectionTo(service: Service, end: () => Promise<void>): Connection {
  const call = clientOf(service);
  const control = {
    must: async (method: string, path: string, body?: unknown): Promise<unknown> => {
      const answer = await call(method, path, body);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
  };
  let offsetMs = 0;
  return {
    send: (method, path, body, headers): Promise<ApiAnswer> => call(method, path, body, headers),
    async advance(seconds) {
      offsetMs += seconds * 1000;
      await call("POST", "/test/clock", { offsetMs });
    },
    pass: (ms) => setTimeout(ms),
    async losing({ object, method, message }, ask) {
      const fails = message === "request" ? "before" : "after";
      await setFaults(control, [{ method: `${object}.${method}`, times: REPEATS, fails }]);
      const { status, body } = await ask();
      const unmet = await setFaults(control, []);
      const isWhole = status < 500 || unmet === REPEATS;
      if (isWhole) throw new Error(`nothing broke off: ${status} ${JSON.stringify(body)}`);
    },
    quiet: () => untilQuiet(control),
    ports: portsOf(control),
    now: () => Date.now() + offsetMs,
    end,
  };
}
