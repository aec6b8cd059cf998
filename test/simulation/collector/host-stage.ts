/**
 * A deployment for audits of hosts: pods come and go, agents report, brakes answer as told.
 * May import: the simulation and its support.
 */

import type { WeighAnswer, WeighRequest } from "../../../src/rpc/leaks.ts";
import { blockObject } from "../../support/simulation/deployment.ts";
import { CLASSES, Scene, type SceneOptions } from "../../support/simulation/scene.ts";

/** What the brakes answer, and what they were asked. */
export interface Brakes {
  answer: (wish: WeighRequest) => WeighAnswer;
  readonly asked: WeighRequest[];
}

/** Opens a scene whose brakes are the test's. */
export async function staged(options: SceneOptions = {}): Promise<Stage> {
  const brakes: Brakes = { answer: ({ wanted }) => ({ granted: wanted }), asked: [] };
  class FakeSweep {
    async weigh(wish: WeighRequest): Promise<WeighAnswer> {
      brakes.asked.push(wish);
      return brakes.answer(wish);
    }
    async alarm(): Promise<void> {}
  }
  const scene = await Scene.open({
    config: { leakGraceSeconds: 600, staleReportSeconds: 300 },
    classes: { ...CLASSES, SweepObject: FakeSweep as never },
    ...options,
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
