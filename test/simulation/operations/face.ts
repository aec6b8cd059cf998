/**
 * The HTTP face over the real object classes on the simulated platform, with callers of every role.
 * May import: the simulation, src, durable-objects. Only virtual time passes.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import { refusalOf } from "../../../durable-objects/refusal.ts";
import { createApp } from "../../../src/http/app.ts";
import { type Deployed, deploy } from "../../support/simulation/deployment.ts";
import { CLASSES } from "../../support/simulation/scene.ts";
import type { World } from "../../support/simulation/world.ts";

/** Turns of the event loop that one answer may take: hashing is done outside the simulated time. */
const TURNS_MAX = 10_000;
/** Turns after which each takes a millisecond: a busy machine hashes slowly. */
const BUSY_TURNS = 1_000;

/** An answer, read whole. */
export interface FaceAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what the contract says is there
  readonly body: any;
}

/** Who calls: an administrator, a reader, or the agent of a host. */
export type Caller = "admin" | "reader" | `agent:${string}`;

export class Face {
  readonly deployed: Deployed;
  readonly world: World;
  readonly #defects: unknown[] = [];
  readonly #app: ReturnType<typeof createApp>;

  private constructor(tokens: string) {
    this.deployed = deploy(CLASSES);
    this.world = this.deployed.world;
    const { ports, policy, settings } = this.deployed;
    let named = 0;
    this.#app = createApp({
      ports,
      policy,
      settings,
      auth: { tokens },
      now: () => this.world.now,
      sleep: (ms, signal) => this.world.sleep(ms, signal),
      unique: () => {
        named += 1;
        return `request-${named}`;
      },
      classify: refusalOf,
      report: (_id, error) => this.#defects.push(error),
    });
  }

  /** Opens a deployment whose callers are known by their own names. */
  static async open(hosts: readonly string[] = ["a", "b"]): Promise<Face> {
    const callers = [
      { name: "admin", role: "admin" },
      { name: "reader", role: "reader" },
      ...hosts.map((host) => ({ name: `agent:${host}`, role: "agent", host })),
    ];
    const entries = callers.map(async (entry) => {
      const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(entry.name));
      return { ...entry, name: entry.name.replace(":", "-"), sha256: Buffer.from(bytes).toString("hex") };
    });
    const face = new Face(JSON.stringify(await Promise.all(entries)));
    for (const host of hosts) await face.must("PUT", `/v1/hosts/${host}`, { labels: {} });
    return face;
  }

  /** Begins a request; the world is not run for it. */
  async begin(method: string, path: string, json?: unknown, caller: Caller = "admin"): Promise<FaceAnswer> {
    const request = new Request(`http://service${path}`, {
      method,
      headers: {
        authorization: `Bearer ${caller}`,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const answer = await this.#app.fetch(request);
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** Sends a request and runs the world until it is answered. */
  async send(method: string, path: string, json?: unknown, caller: Caller = "admin"): Promise<FaceAnswer> {
    return await this.settle(this.begin(method, path, json, caller));
  }

  /** Sends what must succeed. */
  async must(method: string, path: string, json?: unknown, caller: Caller = "admin") {
    const { status, body } = await this.send(method, path, json, caller);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Delivers messages until it is so; what holds them back is the test's. */
  async until(isSo: () => boolean): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      if (isSo()) return;
      await this.world.deliver();
      await (turn < BUSY_TURNS ? setImmediate() : setTimeout(1));
    }
    throw new Error(`it did not become so:\n${this.world.report()}`);
  }

  /** Runs the world until a client's code has settled. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    promise.then(over, over);
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      await this.world.run();
      await (turn < BUSY_TURNS ? setImmediate() : setTimeout(1));
      if (this.#defects.length > 0) throw this.#defects[0];
      if (isOver) return await promise;
    }
    throw new Error(`no answer:\n${this.world.report()}`);
  }
}
