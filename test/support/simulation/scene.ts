/**
 * A whole deployment on the simulated platform, with the operations of its clients and their history.
 * May import: the simulation, src, durable-objects. Rule: a client knows only what it was answered.
 */
import { BlockObject } from "../../../durable-objects/block.ts";
import { ClusterObject } from "../../../durable-objects/cluster.ts";
import { HandleIndexObject } from "../../../durable-objects/handle-index.ts";
import { HostObject } from "../../../durable-objects/host.ts";
import { PoolObject } from "../../../durable-objects/pool.ts";
import { SweepObject } from "../../../durable-objects/sweep.ts";
import type { Attributes } from "../../../src/core/allocation.ts";
import type { Family, Rejection } from "../../../src/core/errors.ts";
import type { Result } from "../../../src/core/result.ts";
import type { Call } from "../../../src/http/operation.ts";
import { conclude } from "../../../src/http/writing/allocating-at.ts";
import { releaseByHandle } from "../../../src/http/writing/release-by-handle.ts";
import type { AddressRelease, AddressReleaseOutcome } from "../../../src/rpc/block.ts";
import type {
  HostAllocateAnswer,
  HostAllocateRequest,
  HostPort,
  TogetherOutcome,
} from "../../../src/rpc/host.ts";
import { type DeploymentOptions, deploy } from "./deployment.ts";
import type { ObjectClass } from "./objects.ts";
import type { World } from "./world.ts";

/** One address in the hands of a handle, as a client was told. */
export interface Told {
  readonly address: string;
  readonly family: Family;
  readonly sequenceNumber: number;
  readonly block: string;
}

export type Ended =
  | { readonly kind: "ok"; readonly addresses: readonly Told[]; readonly reused: boolean }
  | { readonly kind: "refused"; readonly code: string; readonly retryAfterSeconds?: number }
  /** The client lost the connection: nobody knows. */
  | { readonly kind: "unknown" };

/** A request for addresses. Units: `begun` and `over` count events; they order the history. */
export interface Asked {
  readonly what: "allocate" | "assign";
  readonly host: string;
  readonly handle: string;
  readonly key: string;
  readonly counts: Readonly<Record<Family, number>>;
  readonly limit: number | undefined;
  readonly pools: readonly string[] | undefined;
  readonly partial: boolean;
  readonly begun: number;
  over: number;
  ended: Ended | undefined;
}

export interface Released {
  readonly what: "release";
  /** What is released: a handle, or the tenure of one address. */
  readonly handle?: string;
  readonly address?: string;
  readonly sequenceNumber?: number;
  readonly force?: boolean;
  readonly begun: number;
  over: number;
  ended: { readonly kind: "ok" | "refused" | "unknown"; readonly code?: string } | undefined;
}

export interface AllocateWish extends Partial<HostAllocateRequest> {
  readonly handle: string;
  readonly v4?: number;
  readonly v6?: number;
  /** Names of the pools of IPv4 that may be used. */
  readonly pools?: readonly string[];
}

export interface PoolWish {
  readonly cidr: string;
  readonly blockSize: number;
}

export interface SceneOptions extends DeploymentOptions {
  readonly pools?: Readonly<Record<string, PoolWish>>;
  readonly hosts?: readonly string[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly classes?: Record<string, ObjectClass>;
}

export const CLASSES = {
  BlockObject,
  ClusterObject,
  HandleIndexObject,
  HostObject,
  PoolObject,
  SweepObject,
};

/** Codes of refusals after which nothing may be left behind (I15); the others say "perhaps". */
export const FAILURES: ReadonlySet<string> = new Set([
  "overloaded",
  "in_progress",
  "outcome_unknown",
  "policy_unavailable",
  "deadline_exceeded",
  "storage_unavailable",
]);

export class Scene {
  readonly world: World;
  readonly deployed: ReturnType<typeof deploy>;
  readonly asked: Asked[] = [];
  readonly released: Released[] = [];
  /** What requests say of the owner of their addresses. */
  attributesOf: (host: string, handle: string) => Attributes = () => ({});
  /** Told of each request as it begins, and of each release of a handle. */
  onAsked: ((asked: Asked) => void) | undefined;
  onReleased: ((handle: string) => void) | undefined;
  #events = 0;
  #keys = 0;

  private constructor(options: SceneOptions) {
    const { pools: _pools, hosts: _hosts, config: _config, classes = CLASSES, ...rest } = options;
    this.deployed = deploy(classes, rest);
    this.world = this.deployed.world;
  }

  /** Makes the pools, registers the hosts and waits until all is quiet. */
  static async open(options: SceneOptions = {}): Promise<Scene> {
    const scene = new Scene({ ...options, faults: {} });
    const {
      pools = { default: { cidr: "10.0.0.0/24", blockSize: 26 } },
      hosts = ["a", "b"],
      config,
    } = options;
    const { cluster } = scene.deployed.ports;
    for (const [name, spec] of Object.entries(pools)) {
      must(await scene.world.during(cluster().putPool({ name, spec: { ...spec }, by: "test" })));
    }
    if (config !== undefined)
      must(await scene.world.during(cluster().changeConfig({ patch: config, by: "test" })));
    for (const host of hosts) await scene.register(host);
    scene.world.faults = options.faults ?? {};
    return scene;
  }

  async register(host: string): Promise<void> {
    must(await this.world.during(this.deployed.ports.host(host).register({ host, labels: {} })));
  }

  /** Counts events of the history. */
  tick(): number {
    this.#events += 1;
    return this.#events;
  }

  /** Begins an allocation; a wish without a key gets one of its own. */
  allocate(host: string, wish: AllocateWish): Promise<Ended> {
    const { request, asked } = this.#wished(host, wish);
    return this.#finish(asked, this.deployed.ports.host(host).allocate(request));
  }

  /** Begins many allocations of one host in one message. */
  allocateMany(host: string, wishes: readonly AllocateWish[]): Promise<Ended>[] {
    const all = wishes.map((wish) => this.#wished(host, wish));
    const items = all.map(({ request }) => request);
    const answer = this.deployed.ports.host(host).allocateMany({ host, items });
    return all.map(({ asked }, at) =>
      this.#finish(
        asked,
        answer.then((many) => itemOf(many, at)),
      ),
    );
  }

  /** Begins allocations of one host that have nothing to do with each other in one message, as the Worker does. */
  allocateTogether(host: string, wishes: readonly AllocateWish[]): Promise<Ended>[] {
    const all = wishes.map((wish) => this.#wished(host, wish));
    const { ports } = this.deployed;
    const answer = ports.host(host).allocateTogether({ host, items: all.map(({ request }) => request) });
    return all.map(({ asked, request }, at) => {
      const told = answer.then(({ outcomes }) =>
        conclude(request, outcomes[at] as TogetherOutcome, { ports }),
      );
      return this.#finish(asked, told);
    });
  }

  /** Begins the same request with its key once more. */
  again({ host, handle, key, counts, limit, pools, partial }: Asked): Promise<Ended> {
    const more = pools === undefined ? {} : { pools };
    const limited = limit === undefined ? more : { ...more, maxPerHandle: limit };
    return this.allocate(host, { handle, key, v4: counts[4], v6: counts[6], partial, ...limited });
  }

  #wished(host: string, wish: AllocateWish): { request: HostAllocateRequest; asked: Asked } {
    const { v4 = 1, v6 = 0, handle, key = this.newKey(), pools, ...more } = wish;
    const named = pools === undefined ? {} : { pools };
    const request: HostAllocateRequest = {
      host,
      handle,
      key,
      fingerprint: `${v4} ${v6} ${more.maxPerHandle ?? ""} ${pools ?? ""} ${more.partial ?? false}`,
      use: "Workload",
      ...(v4 > 0 ? { ipv4: { count: v4, ...named } } : {}),
      ...(v6 > 0 ? { ipv6: { count: v6 } } : {}),
      attributes: this.attributesOf(host, handle),
      partial: false,
      ownerSlot: "active",
      leakCollection: "auto",
      ...more,
    };
    return { request, asked: this.#ask("allocate", request, { 4: v4, 6: v6 }, pools) };
  }

  /** Begins an exact assignment. */
  assign(host: string, handle: string, address: string, key = this.newKey()): Promise<Ended> {
    const family = address.includes(":") ? 6 : 4;
    const attributes = this.attributesOf(host, handle);
    const rest = { use: "Workload", attributes, leakCollection: "auto" } as const;
    const request = { host, handle, address, key, fingerprint: address, ...rest };
    const counts = { 4: 0, 6: 0, [family]: 1 };
    const asked = this.#ask("assign", request, counts);
    const answer = this.deployed.ports.host(host).assign(request);
    const adapted = answer.then((one): Result<HostAllocateAnswer, Rejection> => {
      if (!one.ok) return one;
      // An address that the handle held already was not got with this key.
      const { address: placed, created, replayed } = one.value;
      const reused = !created && !replayed;
      return { ok: true, value: { addresses: [placed], shortfall: [], replayed, reused } };
    });
    return this.#finish(asked, adapted);
  }

  /** Begins a release of all that a handle holds, as the Worker does it. */
  async release(handle: string): Promise<Released["ended"]> {
    this.onReleased?.(handle);
    const released = this.#release({ handle });
    const { policy, settings, ports } = this.deployed;
    const call = {
      ports,
      settings,
      principal: { subject: "test", role: "admin", method: "none" },
      now: () => this.world.now,
      sleep: this.world.sleep.bind(this.world),
    } as unknown as Call;
    try {
      const leased = await policy.current(this.world.now);
      if (leased === undefined) return this.#over(released, { kind: "refused", code: "policy_unavailable" });
      const answer = await releaseByHandle(call, leased.policy, handle);
      if (answer.ok) return this.#over(released, { kind: "ok" });
      return this.#over(released, { kind: "refused", code: answer.error.code });
    } catch {
      return this.#over(released, { kind: "unknown" });
    }
  }

  /** Begins a release of one address, sent once. */
  async releaseAddress(block: string, item: AddressRelease): Promise<AddressReleaseOutcome | undefined> {
    const released = this.#release(item);
    try {
      const port = this.deployed.ports.block(block);
      const { outcomes } = await port.releaseAddresses({ block, items: [item], cooldownMs: 0 });
      const [outcome] = outcomes;
      const isDone = outcome?.kind === "released" || outcome?.kind === "already_free";
      this.#over(released, isDone ? { kind: "ok" } : { kind: "refused", code: outcome?.kind ?? "" });
      return outcome;
    } catch {
      this.#over(released, { kind: "unknown" });
      return undefined;
    }
  }

  newKey(): string {
    this.#keys += 1;
    return `key-${this.#keys}`;
  }

  #ask(
    what: Asked["what"],
    request: { host: string; handle: string; key: string; maxPerHandle?: number; partial?: boolean },
    counts: Asked["counts"],
    pools?: readonly string[],
  ): Asked {
    const { host, handle, key, maxPerHandle: limit, partial = false } = request;
    const asked: Asked = {
      what,
      host,
      handle,
      key,
      counts,
      limit,
      pools,
      partial,
      begun: this.tick(),
      over: Number.POSITIVE_INFINITY,
      ended: undefined,
    };
    this.asked.push(asked);
    this.onAsked?.(asked);
    return asked;
  }

  async #finish(asked: Asked, answer: Promise<Result<HostAllocateAnswer, Rejection>>): Promise<Ended> {
    let ended: Ended;
    try {
      ended = endOf(await answer);
    } catch {
      ended = { kind: "unknown" };
    }
    // Whoever lost the connection knows nothing of when, or whether, the request ended.
    if (ended.kind !== "unknown") asked.over = this.tick();
    asked.ended = ended;
    return ended;
  }

  #release(what: Pick<Released, "handle" | "address" | "sequenceNumber" | "force">): Released {
    const begun = this.tick();
    const released: Released = {
      what: "release",
      ...what,
      begun,
      over: Number.POSITIVE_INFINITY,
      ended: undefined,
    };
    this.released.push(released);
    return released;
  }

  #over(released: Released, ended: NonNullable<Released["ended"]>): Released["ended"] {
    if (ended.kind === "ok") released.over = this.tick();
    released.ended = ended;
    return ended;
  }
}

function itemOf(
  many: Awaited<ReturnType<HostPort["allocateMany"]>>,
  at: number,
): Result<HostAllocateAnswer, Rejection> {
  return many.ok ? (many.value.results[at] as Result<HostAllocateAnswer, Rejection>) : many;
}

function endOf(answer: Result<HostAllocateAnswer, Rejection>): Ended {
  if (!answer.ok) {
    const { code, retryAfterSeconds } = answer.error;
    return { kind: "refused", code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  }
  const { addresses, reused } = answer.value;
  const told = addresses.map(({ record: { address, family, sequenceNumber, block } }) => {
    return { address, family, sequenceNumber, block };
  });
  return { kind: "ok", addresses: told, reused };
}

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}
