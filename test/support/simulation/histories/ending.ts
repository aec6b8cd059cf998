/**
 * After the faults of a history: everything can be released, every empty block can be had, pools that
 * drain go, and what the objects' rows say of one thing is the same.
 * May import: the simulation. Rule: a wait that is too short is a finding, never a pass.
 */
import { isOnlyTold } from "../../../../src/core/check.ts";
import { checkRows, snapshot } from "../checker.ts";
import { check, lines } from "../checks.ts";
import type { Fleet } from "../collector/fleet.ts";
import { FAILURES, type Scene } from "../scene.ts";
import { collectAll } from "./collecting.ts";
import type { Plan } from "./plan.ts";
import { POOLS } from "./player.ts";
import { NOWHERE, type PolicyWriter } from "./policy-writer.ts";

export interface EndingOptions {
  readonly scene: Scene;
  readonly plan: Plan;
  readonly policy: PolicyWriter;
  readonly found: (finding: string) => void;
  /** Checks what holds at any time. */
  readonly look: () => void;
  readonly fleet: Fleet;
}

/** Blocks of both pools of IPv4, and of the one of IPv6. */
const BLOCKS = { v4: 6, v6: 2 };
/** Longer than spent keys are kept, and than anything waits for anything. */
const REST_MS = 700_000;
const DRAIN_MS = 1_300_000;
/** Hosts and blocks tell a Pool what they hold at most so late. */
const TOLD_MS = 60_000;
const TRIES = 4;

export class Ending {
  readonly #scene: Scene;
  readonly #plan: Plan;
  readonly #policy: PolicyWriter;
  readonly #found: (finding: string) => void;
  readonly #look: () => void;
  readonly #fleet: Fleet;

  constructor({ scene, plan, policy, found, look, fleet }: EndingOptions) {
    this.#scene = scene;
    this.#plan = plan;
    this.#policy = policy;
    this.#found = found;
    this.#look = look;
    this.#fleet = fleet;
  }

  async run(): Promise<void> {
    const { world } = this.#scene;
    for (const change of [
      { do: "disable", disabled: false },
      { do: "set cooldown", seconds: 0 },
      { do: "reserve", address: NOWHERE },
    ] as const) {
      await world.during(this.#policy.make(change));
    }
    for (const host of this.#plan.hosts) {
      await this.#scene.register(host);
      await this.#isAnswered(host);
    }
    if (this.#plan.collects) {
      const options = { scene: this.#scene, fleet: this.#fleet, hosts: this.#plan.hosts };
      await collectAll({ ...options, found: this.#found, look: this.#look });
    }
    // In every fourth history: it costs a fifth of the time of one.
    if (this.#plan.seed % 4 === 0) await this.#repair();
    await this.#releaseAll();
    if (this.#plan.steps.some(({ operation }) => operation.do === "drain" || operation.do === "split")) {
      await this.#renewPools();
    }
    await world.during(this.#policy.make({ do: "set strict", strict: true }));
    await this.#takeAll();
    this.#look();
    this.#agree();
    await this.#sums();
  }

  /** A request after the faults may be refused for want of room, but not fail. */
  async #isAnswered(host: string): Promise<void> {
    const { world } = this.#scene;
    for (let round = 0; round < TRIES; round += 1) {
      const ended = await world.during(this.#scene.allocate(host, { handle: `last-${host}` }));
      if (ended.kind === "ok" || (ended.kind === "refused" && !FAILURES.has(ended.code))) return;
      await world.advance(3_000);
    }
    this.#found(`liveness: ${host} is answered nothing though no faults are left`);
  }

  /** What is held when the faults end agrees after one repair, which takes nothing from anybody. */
  async #repair(): Promise<void> {
    await check(this.#scene, { repair: true });
    this.#look();
    const { view, findings } = await check(this.#scene);
    // What is suspected to be leaked is no contradiction, and no repair takes it away.
    const left = findings.filter((finding) => !isOnlyTold(finding));
    for (const line of lines({ view, findings: left })) this.#found(`check: after a repair there is ${line}`);
  }

  async #releaseAll(): Promise<void> {
    const { world, asked } = this.#scene;
    for (const handle of new Set(asked.map((ask) => ask.handle))) {
      const released = await world.during(this.#scene.release(handle));
      if (released?.kind !== "ok")
        this.#found(`liveness: release of ${handle} ended ${JSON.stringify(released)}`);
    }
    await world.advance(REST_MS);
    const left = snapshot(this.#scene);
    for (const finding of checkRows(left)) this.#found(finding);
    for (const { block, held } of left.blocks) {
      for (const { address, handle } of held)
        this.#found(`I4: ${address} in ${block} is held by ${handle} after all was released`);
    }
    for (const { handle, key, block, state } of left.keys) {
      if (state === "reserved") this.#found(`I5: the index keeps ${handle} ${key} in ${block} for ever`);
    }
  }

  /** Every pool but one drains to its end; then all are there as at first. */
  async #renewPools(): Promise<void> {
    const { world, deployed } = this.#scene;
    const cluster = deployed.ports.cluster();
    const names = async () => {
      const { policy } = await world.during(cluster.policy({}));
      return (policy?.pools ?? []).map(({ name }) => name).filter((name) => name !== "v4");
    };
    for (const name of await names()) await world.during(cluster.drainPool({ name, by: "test" }));
    await world.advance(DRAIN_MS);
    for (const name of await names()) this.#found(`liveness: the pool ${name} does not go`);
    for (const { block, owner } of snapshot(this.#scene).blocks) {
      if (owner !== undefined && !block.startsWith("10.0.0."))
        this.#found(`liveness: ${block} still has the owner ${owner} after its pool went`);
    }
    for (const name of ["other", "v6"] as const) {
      const made = await world.during(cluster.putPool({ name, spec: POOLS[name], by: "test" }));
      if (!made.ok) this.#found(`liveness: the pool ${name} cannot be made again: ${made.error.code}`);
    }
  }

  /** As many fresh hosts as there are blocks, one each. */
  async #takeAll(): Promise<void> {
    const { world } = this.#scene;
    for (let n = 0; n < BLOCKS.v4; n += 1) {
      const host = `fresh-${n}`;
      await this.#scene.register(host);
      const wish = { handle: host, v4: 1, v6: n < BLOCKS.v6 ? 1 : 0 };
      let ended = await world.during(this.#scene.allocate(host, wish));
      for (let again = 1; again < TRIES && ended.kind !== "ok"; again += 1) {
        await world.advance(5_000);
        ended = await world.during(this.#scene.allocate(host, wish));
      }
      if (ended.kind !== "ok")
        this.#found(`liveness: ${host} got no block though one is empty: ${JSON.stringify(ended)}`);
    }
  }

  /** I14: what a Pool sums up is what its blocks hold, once they have told it. */
  async #sums(): Promise<void> {
    const { world, deployed } = this.#scene;
    await world.advance(TOLD_MS);
    const { policy } = await world.during(deployed.ports.cluster().policy({}));
    const { blocks } = snapshot(this.#scene);
    for (const { name, incarnation, cidr, blockSize } of policy?.pools ?? []) {
      const target = { pool: name, incarnation, cidr, blockSize };
      const pool = deployed.ports.pool(name, incarnation);
      const { allocated } = await world.during(pool.usage({ ...target, reservedCidrs: [] }));
      const held = blocks.filter(({ place }) => place.startsWith(`${cidr} `)).flatMap((one) => one.held);
      if (Number(allocated) !== held.length)
        this.#found(`I14: the pool ${name} says ${allocated}, its blocks hold ${held.length}`);
    }
  }

  /** At rest the rows of index, blocks and Hosts are the same set. */
  #agree(): void {
    const { blocks, keys, affinities } = snapshot(this.#scene);
    const held = new Set(
      blocks.flatMap(({ block, held }) => held.map(({ handle, key }) => `${handle} ${key} ${block}`)),
    );
    for (const { handle, key, block, state } of keys) {
      const row = `${handle} ${key} ${block}`;
      if (state === "reserved" && !held.has(row)) this.#found(`I5: the index lists ${row}, held by nobody`);
    }
    const rows = new Set(
      affinities.filter(({ state }) => state === "confirmed").map(({ host, block }) => `${block} ${host}`),
    );
    for (const { block, owner } of blocks) {
      if (owner !== undefined && !rows.has(`${block} ${owner}`))
        this.#found(`I6: ${block} has the owner ${owner}, whose Host has no confirmed row`);
    }
  }
}
