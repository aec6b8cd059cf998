/**
 * Does what a plan draws of pods, agents, runtimes, sweeps and clocks, and says what came of it.
 * May import: the simulation. Rule: whatever fails, nothing here throws.
 */
import { hostObjectName } from "../../../../src/core/ids.ts";
import type { Fleet } from "../collector/fleet.ts";
import type { Scene } from "../scene.ts";
import type { FleetOperation } from "./plan-fleet.ts";

type Tell = (what: string, answer: Promise<string[]>, details: string) => void;

export class FleetPlayer {
  readonly #scene: Scene;
  readonly #fleet: Fleet;
  readonly #tell: Tell;

  constructor(scene: Scene, fleet: Fleet, tell: Tell) {
    this.#scene = scene;
    this.#fleet = fleet;
    this.#tell = tell;
  }

  play(operation: FleetOperation): void {
    const { pods, agents } = this.#fleet;
    switch (operation.do) {
      case "end pod": {
        const living = pods.alive();
        const pod = living[Math.floor(operation.pick * living.length)];
        if (pod === undefined) return;
        const { host, handle } = pod;
        pods.end(operation.everywhere ? { handle } : { host, handle });
        this.#tell(
          "end pod",
          Promise.resolve(["done"]),
          `${handle} on ${operation.everywhere ? "all" : host}`,
        );
        return;
      }
      case "report":
        for (const host of operation.hosts)
          this.#tell(`report ${operation.style}`, agents.report(host, operation.style, operation.luck), host);
        return;
      case "report again":
        this.#tell("report again", agents.again(operation.host, operation.pick), operation.host);
        return;
      case "list attachments":
        this.#tell("attachments", agents.attachments(operation.host), operation.host);
        return;
      case "sweep":
        this.#tell("sweep", this.#sweep(operation.how), operation.how);
        return;
      case "boot":
        this.#tell("boot", agents.boot(operation.host, operation.losesPods), operation.host);
        return;
      case "set clock":
        this.#scene.world.setClock(hostObjectName(operation.host), operation.byMs);
        this.#tell("set clock", Promise.resolve(["done"]), `${operation.host} by ${operation.byMs} ms`);
    }
  }

  /** The owners of a handle were changed by hand. */
  renamed(handle: string): void {
    this.#fleet.pods.rename(handle);
  }

  /** An operator says that a host is gone: nothing lives there. */
  removed(host: string): void {
    this.#fleet.pods.end({ host });
  }

  /** A host registers as what it is; returns its incarnation. */
  registers(host: string): string {
    return this.#fleet.agents.incarnation(host);
  }

  async #sweep(how: "cron" | "by hand"): Promise<string[]> {
    const sweep = this.#scene.deployed.ports.sweep();
    try {
      if (how === "cron") return [(await sweep.tick({ source: "cron" })).kind];
      await sweep.startSweep({ by: "test" });
      return ["started"];
    } catch {
      return ["unknown"];
    }
  }
}
