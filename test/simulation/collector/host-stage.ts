/**
 * A deployment for audits of hosts: pods come and go, agents report, brakes answer as told.
 * May import: the simulation and its support.
 */
import { HostObject } from "../../../durable-objects/host.ts";
import type { Runtime } from "../../../durable-objects/runtime.ts";
import type { MachineFacts, PodFact } from "../../../src/core/leak-kubernetes.ts";
import type { ClusterSource, NodeLook, PodsLook } from "../../../src/rpc/cluster-source.ts";
import type { WeighAnswer, WeighRequest } from "../../../src/rpc/leaks.ts";
import { checkRows, snapshot } from "../../support/simulation/checker.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import type { ObjectClass } from "../../support/simulation/objects.ts";
import { CLASSES, Scene, type SceneOptions } from "../../support/simulation/scene.ts";

/** What the brakes answer, and what they were asked. */
export interface Brakes {
  answer: (wish: WeighRequest) => WeighAnswer;
  readonly asked: WeighRequest[];
}

/** A cluster as a test says that it is. Each look takes no time. */
export class FakeCluster implements ClusterSource {
  readonly pods = new Map<string, { readonly node: string; readonly fact: PodFact }>();
  node: NodeLook = "found";
  isAway = false;
  machines: MachineFacts | undefined;
  looks = 0;
  now: () => number = () => 0;

  /** A pod runs on a node with addresses. */
  put(name: string, node: string, addresses: readonly string[]): void {
    const fact = { namespace: "web", name, addresses, phase: "Running", createdAt: this.now() };
    this.pods.set(`web/${name}`, { node, fact });
  }

  async podsOn(node: string): Promise<PodsLook> {
    return this.#look([...this.pods.values()].filter((pod) => pod.node === node));
  }

  async readPods(names: readonly { readonly namespace: string; readonly pod: string }[]): Promise<PodsLook> {
    const { machines: _machines, ...look } = this.#look(
      names.flatMap(({ namespace, pod }) => this.pods.get(`${namespace}/${pod}`) ?? []),
    );
    return look;
  }

  async readNode(): Promise<NodeLook> {
    return this.isAway ? "unreadable" : this.node;
  }

  async listNodes(): Promise<{ readonly kind: "unreadable"; readonly what: string }> {
    return { kind: "unreadable", what: "not asked here" };
  }

  #look(pods: readonly { readonly fact: PodFact }[]): PodsLook {
    this.looks += 1;
    const look = { takenAt: this.now(), unreadable: new Set<string>(), requests: 1 };
    if (this.isAway) return { ...look, complete: false, pods: [], what: "timed out" };
    const { machines } = this;
    const facts = pods.map(({ fact }) => fact);
    return { ...look, complete: true, pods: facts, ...(machines === undefined ? {} : { machines }) };
  }
}

/** A Host that asks a cluster. */
export function hostWith(cluster: FakeCluster): ObjectClass {
  return class extends HostObject {
    constructor(ctx: DurableObjectState, env: Env, runtime: Runtime) {
      cluster.now = () => runtime.now();
      super(ctx, env, { ...runtime, cluster });
    }
  } as unknown as ObjectClass;
}

/** Opens a scene whose brakes are the test's. */
export async function staged(
  options: SceneOptions & { readonly cluster?: FakeCluster } = {},
): Promise<Stage> {
  const { cluster, ...rest } = options;
  const brakes: Brakes = { answer: ({ wanted }) => ({ granted: wanted }), asked: [] };
  class FakeSweep {
    async weigh(wish: WeighRequest): Promise<WeighAnswer> {
      brakes.asked.push(wish);
      return brakes.answer(wish);
    }
    async alarm(): Promise<void> {}
  }
  const own = cluster === undefined ? {} : { HostObject: hostWith(cluster) };
  const scene = await Scene.open({
    config: { leakGraceSeconds: 600, staleReportSeconds: 300 },
    classes: { ...CLASSES, SweepObject: FakeSweep as never, ...own },
    ...rest,
  });
  return new Stage(scene, brakes);
}

export class Stage {
  readonly scene: Scene;
  readonly brakes: Brakes;
  readonly #sequences = new Map<string, number>();

  constructor(scene: Scene, brakes: Brakes) {
    this.scene = scene;
    this.brakes = brakes;
  }

  get world() {
    return this.scene.world;
  }

  /** A pod of the host gets addresses. */
  async pod(host: string, name: string, wish: { readonly v4?: number; readonly handle?: string } = {}) {
    const { v4 = 1, handle = `net.${name}` } = wish;
    const attributes = { namespace: "web", pod: name };
    return await this.world.during(this.scene.allocate(host, { handle, v4, attributes }));
  }

  /** The host's agent reports the pods that live. */
  report(host: string, pods: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
    const sequence = (this.#sequences.get(host) ?? 0) + 1;
    this.#sequences.set(host, sequence);
    const workloads = pods.map((pod) => {
      return { handle: `net.${pod}`, namespace: "web", pod, addresses: [] as string[] };
    });
    const request = { host, incarnation: "one", sequence, ageMs: 0, complete: true, workloads, ...more };
    return this.scene.deployed.ports.host(host).reportWorkloads(request);
  }

  async reported(host: string, pods: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
    return await this.world.during(this.report(host, pods, more));
  }

  /** Waits, then the agent reports: once for each time. */
  async reports(host: string, pods: readonly string[], ...pauses: readonly number[]) {
    let answer: Awaited<ReturnType<Stage["reported"]>> | undefined;
    for (const pauseMs of pauses) {
      await this.world.advance(pauseMs);
      answer = await this.reported(host, pods);
    }
    return answer;
  }

  /** Handles that hold an address, by the rows of the blocks. */
  handles(): Set<string> {
    return new Set(snapshot(this.scene).blocks.flatMap(({ held }) => held.map(({ handle }) => handle)));
  }

  /** All that the rows say against each other. */
  faults(): string[] {
    return checkRows(snapshot(this.scene));
  }

  audit(host: string, more: Readonly<Record<string, unknown>> = {}) {
    return this.scene.deployed.ports.host(host).audit({ host, sweep: 1, ifOlderThanMs: 0, ...more });
  }

  async audited(host: string, more: Readonly<Record<string, unknown>> = {}) {
    return await this.world.during(this.audit(host, more));
  }

  async leaks(host: string) {
    const { leaks } = await this.world.during(
      this.scene.deployed.ports.host(host).leaks({ host, limit: 100 }),
    );
    return leaks.map(({ address, state, reason }) => `${address} ${state} ${reason}`);
  }

  /** Who holds what in a block: `address handle`. */
  async held(block: string): Promise<string[]> {
    const view = await this.world.during(
      this.scene.deployed.ports
        .block(block)
        .describe({ block, policy: { reserved: [], cooldownMs: 0 }, records: "all" }),
    );
    return view.records
      .filter(({ state }) => state === "allocated")
      .map(({ address, handle }) => `${address} ${handle}`);
  }
}

export { blockObject };
export const MINUTE = 60_000;
