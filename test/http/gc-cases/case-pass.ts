/**
 * One pass of the collector over everything, in a case: agents report or a cluster is asked, and a sweep follows.
 * May import: the service of the case, who tells what lives. Rule: nothing is released here.
 */
import type { LeakWorld } from "../../core/leak-world.ts";
import { CaseAgents } from "./case-agent.ts";
import type { CaseCluster } from "./case-cluster.ts";
import { look } from "./case-look.ts";
import type { CaseService } from "./case-service.ts";

/** When every host's node is seen, in seconds of the case. */
const SEEN = -1;
/** Seconds until the cluster is asked again of what is confirmed. */
const RECHECK = 0.5;

export interface CasePass {
  /** Before the first step; `lost`: hosts that are there no more then. */
  begin(lost: readonly string[], isAnyLost: boolean): Promise<void>;
  /** `lost`: hosts that have gone, and of which something is left. */
  pass(seconds: number, lost: number): Promise<void>;
}

/** Agents report; hosts that are silent, and those that are gone, are visited. */
export class AgentPass implements CasePass {
  readonly #service: CaseService;
  readonly #agents: CaseAgents;

  constructor(service: CaseService, world: LeakWorld) {
    this.#service = service;
    this.#agents = new CaseAgents(service, world);
  }

  async begin(): Promise<void> {}

  async pass(seconds: number): Promise<void> {
    await this.#service.standAt(seconds);
    await this.#agents.report();
    const { sweep } = await this.#service.must("POST", "/v1/gc/sweeps");
    await this.#service.until(`sweep ${sweep}`, async () => {
      const { state, backlogHosts, sweep: at, lastSweepAt } = await this.#service.must("GET", "/v1/gc");
      // A collector that is paused says nothing of a sweep that runs; by a clock that stands one ends when it begins.
      const isOver = Date.parse(lastSweepAt) === this.#service.at(seconds);
      return at >= sweep && backlogHosts === 0 && state !== "running" && isOver;
    });
    await this.#service.quiet();
  }
}

/** No agent reports; the cluster is asked, as often as it takes to know that a node is lost. */
export class ClusterPass implements CasePass {
  readonly #service: CaseService;
  readonly #world: LeakWorld;
  readonly #cluster: CaseCluster;

  constructor(service: CaseService, world: LeakWorld, cluster: CaseCluster) {
    this.#service = service;
    this.#world = world;
    this.#cluster = cluster;
  }

  /** A node that was never seen is of no cluster, and cannot be lost. */
  async begin(lost: readonly string[], isAnyLost: boolean): Promise<void> {
    if (!isAnyLost) return;
    this.#cluster.begin(this.#world, lost);
    await this.#sweep(SEEN);
    this.#cluster.lose(lost);
  }

  async pass(seconds: number, lost: number): Promise<void> {
    this.#cluster.show(this.#world);
    for (const after of this.#cluster.sweepsFor(lost)) {
      await this.#sweep(seconds + after);
      // What is confirmed is looked at once more, right before the release.
      if ((await look(this.#service)).confirmed.length > 0) await this.#sweep(seconds + after + RECHECK);
    }
  }

  async #sweep(seconds: number): Promise<void> {
    await this.#service.standAt(seconds);
    await this.#service.must("POST", "/v1/gc/sweeps");
    await this.#service.until(`a sweep at ${seconds} s`, async () => {
      const { lastSweepAt } = await this.#service.must("GET", "/v1/gc");
      return Date.parse(lastSweepAt) === this.#service.at(seconds);
    });
    await this.#service.quiet();
  }
}
