/**
 * What the agent of a host does in a case: it reports what lives there, and again while that decides something.
 * May import: the service of the case, the cluster in memory. Rule: it knows only its own host.
 */
import type { PodGiven } from "../../core/leak-vocabulary.ts";
import type { LeakWorld } from "../../core/leak-world.ts";
import type { CaseService } from "./case-service.ts";

/** A report that confirms is followed by one that is looked at right before the release. */
const REPORTS_MAX = 2;
/** Pods that have ended hold nothing. */
const ENDED: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed"]);

export const INCARNATION = "life-1";

export class CaseAgents {
  readonly #service: CaseService;
  readonly #world: LeakWorld;
  #sequence = 0;

  constructor(service: CaseService, world: LeakWorld) {
    this.#service = service;
    this.#world = world;
  }

  /** Every host that is of the cluster and there, and whose agent can look, reports. */
  async report(): Promise<void> {
    for (const [host, { k8s }] of this.#world.nodes) {
      const isThere = k8s !== null && this.#world.kubernetesNodes.has(k8s);
      if (!isThere || this.#world.failing.nodes.has(host)) continue;
      for (let turn = 0; turn < REPORTS_MAX; turn += 1) {
        const { leaks } = await this.#send(host, k8s, turn === 0 ? this.#world.listed : this.#world.live);
        if (leaks.confirmed + leaks.held === 0) break;
      }
    }
  }

  async #send(host: string, node: string, view: ReadonlyMap<string, PodGiven>) {
    this.#sequence += 1;
    const pods = [...view.values()].filter((pod) => pod.node === node && !ENDED.has(pod.phase));
    const workloads = pods.map(({ ns, name, ips }) => ({ namespace: ns, pod: name, addresses: ips }));
    return await this.#service.must("PUT", `/v1/hosts/${host}/workloads`, {
      incarnation: INCARNATION,
      sequence: this.#sequence,
      ageMs: 0,
      complete: this.#world.failing.pods.size === 0,
      workloads,
    });
  }
}
