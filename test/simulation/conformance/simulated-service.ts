/**
 * The HTTP face over the real object classes on the simulated platform, as a connection of the cases.
 * May import: the simulation, src, durable-objects. Only virtual time passes.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import { refusalOf } from "../../../durable-objects/refusal.ts";
import { createApp } from "../../../src/http/app.ts";
import type { Ports } from "../../../src/rpc/ports.ts";
import type { Connection } from "../../conformance/api-connection.ts";
import { type DeploymentOptions, deploy } from "../../support/simulation/deployment.ts";
import { CLASSES } from "../../support/simulation/scene.ts";
import type { World } from "../../support/simulation/world.ts";

/** Turns of the event loop that one answer may take: hashing is done outside the simulated time. */
const TURNS_MAX = 10_000;
/** Turns after which each takes a millisecond: a busy machine hashes slowly. */
const BUSY_TURNS = 1_000;

export interface SimulatedConnection extends Connection {
  readonly world: World;
}

/** Opens a fresh deployment. */
export async function openSimulated(options: DeploymentOptions = {}): Promise<SimulatedConnection> {
  const deployed = deploy(CLASSES, options);
  const { world, ports, policy, settings } = deployed;
  let named = 0;
  const defects: unknown[] = [];
  const app = createApp({
    ports,
    policy,
    settings,
    auth: { mode: "none" },
    now: () => world.now,
    sleep: (ms, signal) => world.sleep(ms, signal),
    unique: () => {
      named += 1;
      return `request-${named}`;
    },
    classify: refusalOf,
    report: (_id, error) => defects.push(error),
  });
  return {
    async send(method, path, body, more = {}) {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      const headers = body === undefined ? more : { ...more, "content-type": "application/json" };
      const request = new Request(`http://service${path}`, { method, headers, ...json });
      const answer = await driven(world, Promise.resolve(app.fetch(request)));
      const text = await answer.text();
      if (defects.length > 0) throw defects[0];
      return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
    },
    advance: (seconds) => world.advance(seconds * 1000),
    pass: (ms) => world.advance(ms),
    async losing({ object, method, message: kind }, ask) {
      const className = object === "block" ? "BlockObject" : "PoolObject";
      const end = kind === "request" ? { toClass: className } : { fromClass: className };
      const held = world.hold({ ...end, method, kind });
      const { status, body } = await ask();
      const lost = held.messages.length;
      held.drop();
      if (status < 500 || lost === 0) throw new Error(`nothing broke off: ${status} ${JSON.stringify(body)}`);
    },
    quiet: () => world.run(),
    ports: runFor(world, ports),
    now: () => world.now,
    world,
    end: async () => {},
  };
}

/** Runs the world until the promise of a client's code has settled. */
async function driven<T>(world: World, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  promise.then(over, over);
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    await world.run();
    await (turn < BUSY_TURNS ? setImmediate() : setTimeout(1));
    if (isOver) return await promise;
  }
  throw new Error(`no answer:\n${world.report()}`);
}

/** Objects whose every answer the world is run for. */
function runFor(world: World, ports: Ports): Ports {
  const run = <P extends object>(port: P): P =>
    new Proxy(port, {
      get: (target, method) => (request: unknown) => {
        const methods = target as Record<PropertyKey, (request: unknown) => Promise<unknown>>;
        return world.during(methods[method]?.(request) ?? Promise.reject(new Error("no such method")));
      },
    });
  return new Proxy(ports, {
    get:
      (target, kind) =>
      (...name: unknown[]) => {
        const make = target[kind as keyof Ports] as (...name: unknown[]) => object;
        return run(make(...name));
      },
  });
}
