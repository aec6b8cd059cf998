/**
 * Changes of policy that are insisted on until they are acknowledged, and what must hold from then on.
 * May import: the simulation, src/rpc. Rule: one change at a time; while it runs, the watch expects neither state.
 */
import type { Policy } from "../../../../src/core/policy.ts";
import type { Result } from "../../../../src/core/result.ts";
import type { ClusterPort } from "../../../../src/rpc/cluster.ts";
import type { Scene } from "../scene.ts";
import type { Watch } from "../watch.ts";
import type { Operation } from "./plan.ts";
import type { Line } from "./player.ts";

export type PolicyChange = Extract<Operation, { do: "set cooldown" | "set strict" | "reserve" | "disable" }>;

const PATIENCE_MS = 3_000;
const ROUNDS_MAX = 50;
/** Not in a pool: nothing that a plan asks for is reserved then. */
export const NOWHERE = "10.0.0.255";

type Write = (cluster: ClusterPort, policy: Policy) => Promise<Result<unknown, unknown>>;

export class PolicyWriter {
  /** Pools that may drain, split and be made again, by the policy that was read last. */
  endable: readonly string[] = ["other", "v6"];
  /** Changes that were never acknowledged. */
  readonly unheard: string[] = [];
  readonly #scene: Scene;
  readonly #watch: Watch;
  readonly #line: Line;
  #isBusy = false;

  constructor(scene: Scene, watch: Watch, line: Line) {
    this.#scene = scene;
    this.#watch = watch;
    this.#line = line;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Begins a change, unless one is under way. */
  change(change: PolicyChange): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    void this.make(change).finally(() => {
      this.#isBusy = false;
    });
  }

  /** Makes a change; settles when it is acknowledged. */
  async make(change: PolicyChange): Promise<void> {
    const { obeyed } = this.#watch;
    switch (change.do) {
      case "set cooldown":
        obeyed.cooldownMs = undefined;
        await this.#insist(
          `cooldown ${change.seconds} s`,
          configWrite({ ipCooldownSeconds: change.seconds }),
        );
        obeyed.cooldownMs = change.seconds * 1000;
        return;
      case "set strict":
        obeyed.strict = undefined;
        await this.#insist(`strict ${change.strict}`, configWrite({ strictAffinity: change.strict }));
        obeyed.strict = change.strict;
        return;
      case "reserve":
        obeyed.reserved = undefined;
        await this.#insist(`reserve ${change.address}`, reservationWrite(change.address));
        obeyed.reserved = change.address;
        return;
      default:
        obeyed.disabled = undefined;
        await this.#insist(`disabled ${change.disabled}`, disablingWrite(change.disabled));
        obeyed.disabled = change.disabled;
    }
  }

  /** Writes until it is acknowledged; the guard keeps late copies of the write from taking effect later. */
  async #insist(what: string, write: Write): Promise<void> {
    this.#line(`policy ${what}`);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const cluster = this.#scene.deployed.ports.cluster();
      const policy = (await this.#patient(cluster.policy({})))?.policy;
      if (policy !== undefined) {
        this.endable = policy.pools.map(({ name }) => name).filter((name) => name !== "v4");
        const answer = await this.#patient(write(cluster, policy));
        if (answer?.ok === true) {
          this.#line(`  policy ${what}: acknowledged`);
          this.#watch.count("policy acknowledged");
          return;
        }
      }
      this.#watch.count("policy repeated");
      await this.#scene.world.sleep(100);
    }
    this.unheard.push(what);
  }

  async #patient<T>(answer: Promise<T>): Promise<T | undefined> {
    const none = () => undefined;
    return await Promise.race([answer.catch(none), this.#scene.world.sleep(PATIENCE_MS).then(none)]);
  }
}

function configWrite(patch: Record<string, unknown>): Write {
  return (cluster, { config }) => cluster.changeConfig({ patch, by: "test", ifRevision: config.revision });
}

function reservationWrite(address: string): Write {
  const spec = { reservedCIDRs: [`${address}/32`] };
  return (cluster, { reservations }) => {
    const ifRevision = reservations[0]?.revision ?? 0;
    return cluster.putReservation({ name: "one", spec, by: "test", ifRevision });
  };
}

function disablingWrite(disabled: boolean): Write {
  return (cluster, { pools }) => {
    const ifRevision = pools.find(({ name }) => name === "v4")?.revision ?? 0;
    return cluster.patchPool({ name: "v4", patch: { disabled }, by: "test", ifRevision });
  };
}
