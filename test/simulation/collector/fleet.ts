/**
 * The Sweep with real Hosts, blocks and Pools: hosts of ten pods each, whose agents report until a pod is gone.
 * May import: the simulation and its support.
 */
import { expect } from "vitest";
import type { EventFilter } from "../../../src/rpc/cluster.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { MINUTE } from "./sweep-stage.ts";

const POOLS = { default: { cidr: "10.0.0.0/20", blockSize: 26 } };

export class Fleet {
  readonly scene: Scene;
  readonly hosts: readonly string[];
  readonly pods = new Map<string, Set<string>>();
  #sequence = 0;

  constructor(scene: Scene, hosts: readonly string[]) {
    this.scene = scene;
    this.hosts = hosts;
  }

  static async open(hosts: readonly string[], settings = {}, pools = POOLS): Promise<Fleet> {
    const config = { leakGraceSeconds: 600, staleReportSeconds: 300 };
    const fleet = new Fleet(await Scene.open({ pools, hosts, config, settings }), hosts);
    for (const host of hosts) {
      const pods = Array.from({ length: 10 }, (_, n) => `${host}-${n}`);
      fleet.pods.set(host, new Set(pods));
      for (const pod of pods) {
        const attributes = { namespace: "web", pod };
        const wish = { handle: `net.${pod}`, v4: 1, attributes };
        expect((await fleet.world.during(fleet.scene.allocate(host, wish))).kind).toBe("ok");
      }
    }
    return fleet;
  }

  get world() {
    return this.scene.world;
  }

  get sweep() {
    return this.scene.deployed.ports.sweep();
  }

  /** Each agent reports what lives on its host; incarnations are those of the registration. */
  async report(hosts = this.hosts): Promise<void> {
    this.#sequence += 1;
    for (const host of hosts) {
      const workloads = [...(this.pods.get(host) ?? [])].map((pod) => {
        return { handle: `net.${pod}`, namespace: "web", pod, addresses: [] as string[] };
      });
      const request = { incarnation: "one", sequence: this.#sequence, ageMs: 0, complete: true, workloads };
      const said = await this.world.during(
        this.scene.deployed.ports.host(host).reportWorkloads({ host, ...request }),
      );
      expect(said.ok && said.value.accepted).toBe(true);
    }
  }

  /** So many minutes, each with a call of the trigger, every other with reports. */
  async minutes(count: number, reporting = this.hosts): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      if (minute % 2 === 0) await this.report(reporting);
      await this.world.during(this.sweep.tick({ source: "cron" }));
      await this.world.advance(MINUTE);
    }
  }

  async gc() {
    return await this.world.during(this.sweep.getGc({}));
  }

  async events(filter: EventFilter = {}) {
    const asked = this.scene.deployed.ports.cluster().listEvents({ ...filter, limit: 100 });
    return (await this.world.during(asked)).events;
  }

  /** Pods that hold an address. */
  async held(host: string): Promise<number> {
    const { hosts } = await this.world.during(this.sweep.hostFigures({ limit: 100 }));
    return hosts.find((told) => told.host === host)?.figures.allocated ?? -1;
  }
}
