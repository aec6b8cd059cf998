/**
 * The composition root of the benchmark: the deployed service, routes to compare with, and what objects counted.
 * May import: everything. Rule: never deployed; in a request of the service, all of it is one look for a header.
 */
import { Hono } from "hono";
import { productionRuntime } from "../durable-objects/production.ts";
import { refusalOf } from "../durable-objects/refusal.ts";
import type { Counters } from "../durable-objects/storage/store.ts";
import { sendGathered } from "../src/http/gathering.ts";
import { createFetch } from "../src/http/worker.ts";
import service, * as deployed from "../src/index.ts";
import type { HostAllocateManyRequest, HostAllocateRequest, HostPort } from "../src/rpc/host.ts";
import { canned, cannedTogether } from "./canned.ts";
import { VARIANT_HEADER } from "./generator/plan.ts";
import {
  own,
  type Placed,
  SkeletonBlock,
  SkeletonHost,
  SkeletonIndex,
  type SkeletonRequest,
} from "./skeleton.ts";

interface Counting {
  counters(): Counters | Promise<Counters>;
}

/** Each instance, by its place: what it counts is read without a call to it. */
const living = new Map<string, Counting>();

function remember(kind: string, ctx: DurableObjectState, object: Counting): void {
  living.set(`${kind} ${ctx.id}`, object);
}

export class BlockObject extends deployed.BlockObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("block", ctx, this);
  }
}

export class ClusterObject extends deployed.ClusterObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("cluster", ctx, this);
  }
}

export class HandleIndexObject extends deployed.HandleIndexObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("handleIndex", ctx, this);
  }
}

export class HostObject extends deployed.HostObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("host", ctx, this);
  }
}

export class PoolObject extends deployed.PoolObject {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("pool", ctx, this);
  }
}

/** Beside what is deployed, the objects of the bench's own lines: each is a Sweep of a name that nobody sweeps. */
export class SweepObject extends deployed.SweepObject {
  readonly #host: SkeletonHost;
  readonly #index: SkeletonIndex;
  readonly #block: SkeletonBlock;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    remember("sweep", ctx, this);
    const other = (name: string) => objectOf(env as never, name);
    this.#host = new SkeletonHost({ index: (shard) => other(`skeleton-index-${shard}`), block: other });
    this.#index = new SkeletonIndex(ctx.storage);
    this.#block = new SkeletonBlock(ctx.storage);
  }

  /** One durable write in one object: the floor under every request that must not be lost. */
  async bump(): Promise<number> {
    const { sql } = this.ctx.storage;
    own.calls += 1;
    own.commits += 1;
    own.rowsWritten += 1;
    own.rowsRead += 1;
    return this.ctx.storage.transactionSync(() => {
      sql.exec("CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT");
      sql.exec("INSERT INTO bench VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1");
      return Number(sql.exec("SELECT n FROM bench").one().n);
    });
  }

  async answer(request: HostAllocateRequest) {
    own.calls += 1;
    return canned(request);
  }

  async answerTogether(request: HostAllocateManyRequest) {
    own.calls += 1;
    return cannedTogether(request);
  }

  async skeleton(request: SkeletonRequest): Promise<{ ordinal: number }> {
    own.calls += 1;
    return await this.#host.allocate(request);
  }

  async skeletonTogether({ items }: { items: readonly SkeletonRequest[] }) {
    own.calls += 1;
    return { outcomes: await Promise.all(items.map((item) => this.#host.allocate(item))) };
  }

  async skeletonAnswer(request: HostAllocateRequest) {
    own.calls += 1;
    await this.#host.allocate(request);
    return canned(request);
  }

  async skeletonAnswerTogether(request: HostAllocateManyRequest) {
    own.calls += 1;
    await Promise.all(request.items.map((item) => this.#host.allocate(item)));
    return cannedTogether(request);
  }

  async enter({ items }: { items: readonly Placed[] }): Promise<{ outcomes: number[] }> {
    own.calls += 1;
    return await this.#index.enter(items);
  }

  async place({ items }: { items: readonly Placed[] }): Promise<{ outcomes: number[] }> {
    own.calls += 1;
    return this.#block.place(items);
  }
}

/** What all objects of the process did since it started. */
async function counted() {
  const sums = { ...own };
  for (const object of living.values()) {
    const { calls, ...rest } = await object.counters();
    for (const count of Object.values(calls)) sums.calls += count;
    sums.commits += rest.commits;
    sums.rowsWritten += rest.rowsWritten;
    sums.rowsRead += rest.rowsRead;
  }
  return { ...sums, objects: living.size };
}

interface BenchEnv extends Omit<Env, "SWEEP"> {
  readonly SWEEP: DurableObjectNamespace<SweepObject>;
}

/** Making an id hashes its name; the service keeps ids, too. */
const ids = new Map<string, DurableObjectId>();

function objectOf({ SWEEP }: BenchEnv, name: string) {
  const id = ids.get(name) ?? SWEEP.idFromName(name);
  ids.set(name, id);
  return SWEEP.get(id);
}

type Answering = Pick<HostPort, "allocate" | "allocateTogether">;

/** The service with a Host that decides nothing. */
const serviceWith = (hostOf: (env: BenchEnv, name: string) => Answering) =>
  createFetch<BenchEnv>((env) => {
    const runtime = productionRuntime(env as never);
    return { ...runtime, ports: { ...runtime.ports, host: (name) => hostOf(env, name) as HostPort } };
  }, refusalOf);

/** The same path and the same checks as a request of the service; a header says which Host answers it. */
const variants: Readonly<Record<string, ReturnType<typeof serviceWith>>> = {
  "no-call": serviceWith(() => ({
    allocate: async (request) => canned(request),
    allocateTogether: async (request) => cannedTogether(request),
  })),
  "one-call": serviceWith((env, name) => ({
    allocate: (request) => objectOf(env, name).answer(request),
    allocateTogether: (request) => objectOf(env, name).answerTogether(request),
  })),
  skeleton: serviceWith((env, name) => ({
    allocate: (request) => objectOf(env, name).skeletonAnswer(request),
    allocateTogether: (request) => objectOf(env, name).skeletonAnswerTogether(request),
  })),
};

let runtime: ReturnType<typeof productionRuntime> | undefined;

/** The skeleton behind the service's gathering of messages, without its checks. */
async function gathered(request: SkeletonRequest, env: BenchEnv): Promise<{ ordinal: number }> {
  runtime ??= productionRuntime(env as never);
  const { host } = request;
  const way = {
    to: `skeleton ${host}`,
    alone: (item: SkeletonRequest) => objectOf(env, host).skeleton(item),
    together: async (items: readonly SkeletonRequest[]) =>
      (await objectOf(env, host).skeletonTogether({ items })).outcomes,
  };
  return await sendGathered(request, way, runtime);
}

/** Through the router that the service uses where a look-up is not enough, and with JSON read and written. */
const routes = new Hono<{ Bindings: BenchEnv }>()
  .post("/bench/noop", async (c) => c.json(await c.req.json()))
  .post("/bench/write/:name", async (c) => {
    await c.req.json();
    return c.json({ n: await objectOf(c.env, c.req.param("name")).bump() });
  })
  .post("/bench/skeleton", async (c) => {
    const request = await c.req.json<SkeletonRequest>();
    return c.json(await objectOf(c.env, request.host).skeleton(request));
  })
  .post("/bench/gathered", async (c) => c.json(await gathered(await c.req.json(), c.env)))
  .get("/bench/counters", async (c) => c.json(await counted()));

export default {
  async fetch(request, env, ctx) {
    // All that a request of the service takes longer here: one look for a header that it has not.
    const variant = request.headers.get(VARIANT_HEADER);
    if (variant === null) return await service.fetch(request as never, env as never, ctx);
    // Nothing read, nothing parsed: what the load is compared with.
    if (variant === "bare") return new Response("ok");
    const serve = variants[variant] ?? routes.fetch;
    return await serve(request, env, ctx);
  },
} satisfies ExportedHandler<BenchEnv>;
