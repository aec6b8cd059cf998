/** Services on bare workerd as connections of the conformance cases. */
import { setTimeout } from "node:timers/promises";
import type { ApiAnswer, Connection } from "../conformance/api-connection.ts";
import { type Service, startService } from "../support/service.ts";
import { clientOf } from "./client.ts";

/** Writes of the policy wait for leases; calls end with them, so a busy machine needs longer ones. */
const SETTINGS = { leaseMs: 1_000, skewMs: 200 };

/** A row of fresh services: the next one starts while the present one is at work. */
export class Services {
  #next: Promise<Service> | undefined;
  #shared: Promise<Service> | undefined;

  /** A service that no case has seen; `end` stops it and removes its data. */
  readonly fresh = async (): Promise<Connection> => {
    const service = await (this.#next ?? start());
    this.#next = start();
    // Seen here, so that a failed start is told by whoever wants that service.
    this.#next.catch(() => undefined);
    return connectionTo(service, () => service.stop());
  };

  /** One service for all cases that leave no traces that another one could meet. */
  readonly shared = async (): Promise<Connection> => {
    this.#shared ??= start();
    return connectionTo(await this.#shared, async () => {});
  };

  /** Stops what was started ahead or is shared. */
  async stop(): Promise<void> {
    await Promise.all([this.#next, this.#shared].map(async (service) => (await service)?.stop()));
  }
}

function start(): Promise<Service> {
  const vars = { TEST_SETTINGS: JSON.stringify(SETTINGS) };
  return startService({ entry: "test/support/entry.ts", vars });
}

function connectionTo(service: Service, end: () => Promise<void>): Connection {
  const call = clientOf(service);
  let offsetMs = 0;
  return {
    send: (method, path, body, headers): Promise<ApiAnswer> => call(method, path, body, headers),
    async advance(seconds) {
      offsetMs += seconds * 1000;
      await call("POST", "/test/clock", { offsetMs });
    },
    pass: (ms) => setTimeout(ms),
    end,
  };
}
