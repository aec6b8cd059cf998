/** The HTTP face alone: objects that answer what a test tells them, and keep what they were asked. */
import { setTimeout } from "node:timers/promises";
import { defaultConfig } from "../../src/core/config.ts";
import { compilePolicy, type Policy } from "../../src/core/policy.ts";
import { LOCAL_SETTINGS } from "../../src/core/settings.ts";
import { createApp } from "../../src/http/app.ts";
import type { AuthSettings } from "../../src/http/auth.ts";
import type { Assets } from "../../src/http/pages.ts";
import type { Ports } from "../../src/rpc/ports.ts";

/** Answers of methods by `class.method`; a method without one fails the request as a defect. */
export type Answers = Record<string, (request: never) => unknown>;

export interface Fake {
  /** What the objects were asked, in order, as `class.method`. */
  readonly asked: { readonly method: string; readonly request: Record<string, unknown> }[];
  /** Defects that were reported. */
  readonly reported: unknown[];
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
}

type Sleep = Parameters<typeof createApp>[0]["sleep"];

/** A body as it travels. */
export type Body = string | Uint8Array<ArrayBuffer> | ReadableStream;

export interface SendOptions {
  readonly headers?: Record<string, string>;
  /** Sent as JSON, with its content type. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly raw?: Body;
}

export interface FakeOptions {
  readonly answers?: Answers;
  readonly auth?: AuthSettings;
  readonly policy?: Partial<Policy>;
  readonly assets?: Assets;
  readonly leased?: boolean;
  /** Absent: time passes as it does. */
  readonly sleep?: Sleep;
}

export const NOW = Date.parse("2026-11-29T02:51:07.412Z");

/** A token list with the SHA-256 of each name as its token. */
export async function tokensOf(...entries: { name: string; role: string; host?: string }[]): Promise<string> {
  const listed = await Promise.all(
    entries.map(async (entry) => {
      const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`secret-${entry.name}`));
      return { ...entry, sha256: Buffer.from(bytes).toString("hex") };
    }),
  );
  return JSON.stringify(listed);
}

/** The header that a caller of tokensOf sends. */
export function bearer(name: string): Record<string, string> {
  return { authorization: `Bearer secret-${name}` };
}

const realSleep: Sleep = (ms, signal) =>
  setTimeout(ms, undefined, signal instanceof AbortSignal ? { signal } : {});

/** Makes the face over fake objects. */
export function fake(options: FakeOptions = {}): Fake {
  const policy: Policy = {
    version: 1,
    config: defaultConfig(NOW),
    pools: [],
    reservations: [],
    ...options.policy,
  };
  const answers: Answers = {
    "cluster.policy": () => ({ version: 1, policy }),
    "cluster.findHost": () => ({ entry: {} }),
    ...options.answers,
  };
  const asked: Fake["asked"] = [];
  const reported: unknown[] = [];
  const object = (name: string): never =>
    new Proxy(
      {},
      {
        get: (_target, method: string) => async (request: Record<string, unknown>) => {
          asked.push({ method: `${name}.${method}`, request });
          const answer = answers[`${name}.${method}`];
          if (answer === undefined) throw new Error(`${name}.${method} was not expected`);
          return answer(request as never);
        },
      },
    ) as never;
  const ports: Ports = {
    block: () => object("block"),
    host: () => object("host"),
    pool: () => object("pool"),
    handleIndex: () => object("index"),
    handleIndexShard: () => object("index"),
    cluster: () => object("cluster"),
    sweep: () => object("sweep"),
  };
  const compiled = compilePolicy(policy);
  const leased = options.leased === false ? undefined : { policy: compiled, until: NOW + 1_000 };
  let counter = 0;
  const app = createApp({
    ports,
    policy: {
      peek: () => compiled,
      held: () => leased,
      current: async () => leased,
      refresh: async () => leased,
    },
    settings: LOCAL_SETTINGS,
    auth: options.auth ?? { mode: "none" },
    ...(options.assets === undefined ? {} : { assets: options.assets }),
    now: () => NOW,
    sleep: options.sleep ?? realSleep,
    unique: () => `unique-${++counter}`,
    classify: () => undefined,
    report: (_id, error) => reported.push(error),
  });
  const send = async (method: string, path: string, { headers = {}, json, raw }: SendOptions = {}) => {
    const body = json === undefined ? raw : JSON.stringify(json);
    return app.request(`http://service${path}`, {
      method,
      headers: { ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body, duplex: "half" }),
    });
  };
  return { asked, reported, send };
}

/** Reads a problem, and holds it to its own status and type. */
export async function problemOf(answer: Response): Promise<Record<string, unknown> & { code: string }> {
  const body = (await answer.json()) as Record<string, unknown> & { code: string };
  const type = answer.headers.get("content-type");
  if (type !== "application/problem+json" || body.status !== answer.status) {
    throw new Error(`not a problem: ${answer.status} ${type} ${JSON.stringify(body)}`);
  }
  return body;
}

/** What is wrong with a request, as `place code`. */
export async function faultsOf(answer: Response): Promise<string[]> {
  const { code, errors } = await problemOf(answer);
  if (code !== "invalid_request") throw new Error(`expected invalid_request, got ${code}`);
  return (errors as { pointer?: string; parameter?: string; code: string }[])
    .map((fault) => `${fault.pointer ?? fault.parameter} ${fault.code}`)
    .toSorted();
}
