/**
 * The pods of a deployment, the agents that tell of them, and the judge of what the collector makes of it.
 * May import: the simulation. Rule: one for each scene, made before its first request.
 */
import type { Scene } from "../scene.ts";
import type { Watch } from "../watch.ts";
import { Agents } from "./agents.ts";
import { NAMESPACE, Pods, podName } from "./pods.ts";
import { Witness } from "./witness.ts";

/** What a deployment with a fleet is configured with. Units: seconds. */
export const COLLECTED = { leakGraceSeconds: 60, staleReportSeconds: 300 };

export class Fleet {
  readonly pods: Pods;
  readonly agents: Agents;
  readonly witness: Witness;

  /** With `areNamed` requests name their pods; without names nothing is collected but on a host that was removed. */
  constructor(scene: Scene, watch: Watch, areNamed: boolean, found: (finding: string) => void) {
    this.pods = new Pods(() => scene.tick());
    this.agents = new Agents(scene, this.pods, watch);
    const graceMs = COLLECTED.leakGraceSeconds * 1_000;
    this.witness = new Witness(scene, this.pods, this.agents, { graceMs, found });
    if (areNamed)
      scene.attributesOf = (host, handle) => ({ namespace: NAMESPACE, pod: podName(host, handle) });
    scene.onAsked = (asked) => this.pods.asks(asked);
    scene.onReleased = (handle) => this.pods.end({ handle });
    scene.world.network.onRequest = (message) => this.witness.sees(message);
    watch.ears = this.witness;
  }
}
