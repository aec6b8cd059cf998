/**
 * Pools that drain, split and come back with other blocks, hosts that go and come back, under chance: late,
 * lost, repeated messages, crashes, instances that live on. `LIFECYCLE_SECONDS` goes on with further seeds;
 * `LIFECYCLE_SEED` runs one alone.
 */
import { expect, test } from "vitest";
import { checkHistory, checkRows, snapshot } from "../../support/simulation/checker.ts";
import { Scene } from "../../support/simulation/scene.ts";
import type { Faults } from "../../support/simulation/world.ts";

const SEEDS = 40;
const SECONDS = Number(process.env.LIFECYCLE_SECONDS ?? 0);
const ONLY = process.env.LIFECYCLE_SEED;
const OPERATIONS = 60;
const HOSTS = ["a", "b", "c"];
const HANDLES = ["h1", "h2", "h3", "h4", "h5", "h6"];
const RANGES = { one: "10.0.0.0/28", two: "10.0.1.0/29" };
const FAULTS: Faults = {
  delay: [0.5, 6],
  late: 0.02,
  lateMax: 4_000,
  loseRequest: 0.01,
  loseAnswer: 0.01,
  noticed: 0.7,
  misreport: 0.01,
  crashBeforeCommit: 0.005,
  crashAfterCommit: 0.005,
  evict: 0.005,
  supersede: 0.005,
};

/** What the runs are about: one that was never reached proves nothing. */
const reached = new Map<string, number>();

class Life {
  readonly scene: Scene;
  readonly findings = new Set<string>();
  readonly lines: string[] = [];

  private constructor(scene: Scene) {
    this.scene = scene;
  }

  static async open(seed: number): Promise<Life> {
    const pools = { one: { cidr: RANGES.one, blockSize: 30 }, two: { cidr: RANGES.two, blockSize: 31 } };
    const settings = { reclaimAgeMs: 2_000, indexPassMs: 20_000, skewMs: 100 };
    return new Life(await Scene.open({ seed, pools, hosts: HOSTS, settings, faults: FAULTS }));
  }

  async run(): Promise<void> {
    const { world } = this.scene;
    const { random } = world;
    for (let n = 0; n < OPERATIONS; n += 1) {
      this.#operate();
      if (random.chance(0.04)) world.evict(random.pick(world.objectNames));
      await world.advance(random.chance(0.15) ? random.between(500, 4_000) : random.between(0, 80));
      this.#look();
    }
    world.faults = {};
    await world.advance(60_000);
    this.#look();
    for (const finding of checkHistory(this.scene, snapshot(this.scene))) this.findings.add(finding);
    await this.#endAll();
  }

  #operate(): void {
    const { random } = this.scene.world;
    const draw = random.next();
    const host = random.pick(HOSTS);
    const { scene } = this;
    if (draw < 0.35)
      this.#do(`allocate ${host}`, scene.allocate(host, { handle: random.pick(HANDLES), v4: 2 }));
    else if (draw < 0.45) {
      const address = `10.0.0.${random.below(16)}`;
      this.#do(`assign ${host}`, scene.assign(host, random.pick(HANDLES), address));
    } else if (draw < 0.62) this.#do("release", scene.release(random.pick(HANDLES)));
    else if (draw < 0.72) this.#drain();
    else if (draw < 0.77) this.#cancel();
    else if (draw < 0.86) this.#make();
    else if (draw < 0.89) this.#split();
    else if (draw < 0.94) this.#do(`remove ${host}`, scene.deployed.ports.host(host).remove({ host }));
    else this.#do(`register ${host}`, scene.deployed.ports.host(host).register({ host, labels: {} }));
  }

  get #cluster() {
    return this.scene.deployed.ports.cluster();
  }

  #drain(): void {
    const name = this.scene.world.random.pick(Object.keys(RANGES));
    this.#do("drain", this.#cluster.drainPool({ name, by: "test" }));
  }

  #cancel(): void {
    const name = this.scene.world.random.pick(Object.keys(RANGES));
    this.#do("cancel", this.#cluster.patchPool({ name, patch: { draining: false }, by: "test" }));
  }

  /** Makes a pool again that may have gone, with blocks of any size. */
  #make(): void {
    const { random } = this.scene.world;
    const [name, cidr] = random.pick(Object.entries(RANGES));
    const spec = { cidr, blockSize: random.pick([29, 30, 31, 32]) };
    this.#do("make", this.#cluster.putPool({ name, spec, by: "test", mustNotExist: true }));
  }

  #split(): void {
    const name = this.scene.world.random.pick(Object.keys(RANGES));
    this.#do("split", this.#cluster.splitPool({ name, parts: 2, by: "test" }));
  }

  #do(what: string, answer: Promise<unknown>): void {
    answer.then(
      (value) => this.#line(`${what}: ${JSON.stringify(value)?.slice(0, 160)}`),
      () => this.#line(`${what}: lost`),
    );
  }

  #line(text: string): void {
    this.lines.push(`${this.scene.world.scheduler.now.toFixed(0)} ${text}`);
  }

  /** What holds at any time; also over blocks of two sizes on one range. */
  #look(): void {
    const seen = snapshot(this.scene);
    const holders = new Map<string, string>();
    for (const { block, held } of seen.blocks) {
      for (const { address } of held) {
        const other = holders.get(address);
        if (other !== undefined) this.#found(`I1: ${address} is held in ${other} and in ${block}`);
        holders.set(address, block);
      }
    }
    for (const finding of checkRows(seen)) this.#found(finding);
  }

  #found(finding: string): void {
    if (!this.findings.has(finding)) this.#line(`FOUND ${finding}`);
    this.findings.add(finding);
  }

  /** Nothing hangs: hosts come back, what is held is released, and every pool drains to its end. */
  async #endAll(): Promise<void> {
    const { scene } = this;
    const { world } = scene;
    for (const host of HOSTS) await scene.register(host);
    for (const handle of HANDLES) await world.during(scene.release(handle));
    const { policy } = await world.during(this.#cluster.policy({}));
    for (const { name } of policy?.pools ?? []) {
      await world.during(this.#cluster.drainPool({ name, by: "test" }));
    }
    await world.advance(1_300_000);
    const { policy: end } = await world.during(this.#cluster.policy({}));
    for (const { name } of end?.pools ?? []) this.#found(`liveness: pool ${name} does not go`);
    for (const { block, owner, held } of snapshot(scene).blocks) {
      if (owner !== undefined) this.#found(`liveness: ${block} still has owner ${owner}`);
      for (const { address, handle } of held) this.#found(`liveness: ${address} is left with ${handle}`);
    }
    this.#look();
    const { events } = world.counters.read();
    for (const what of Object.keys(events)) reached.set(what, (reached.get(what) ?? 0) + 1);
    const made =
      (end?.version ?? 0) > 0 ? world.rows(CLUSTER, "SELECT incarnation FROM cluster")[0] : undefined;
    reached.set("incarnations", (reached.get("incarnations") ?? 0) + Number(made?.incarnation ?? 0));
    for (const what of ["drain", "cancel", "make", "split", "remove", "register"]) {
      const done = this.lines.filter(
        (line) => line.includes(` ${what}`) && line.includes(": {") && !line.includes(`{"ok":false`),
      );
      reached.set(what, (reached.get(what) ?? 0) + done.length);
    }
  }
}

const CLUSTER = "cluster:v1:default";

async function run(seed: number): Promise<void> {
  const life = await Life.open(seed);
  await life.run();
  if (life.findings.size > 0) {
    console.error([`LIFECYCLE_SEED=${seed}`, ...life.lines, life.scene.world.report(80)].join("\n"));
  }
  expect([...life.findings], `seed ${seed}`).toEqual([]);
}

test(
  "I1, I3–I6, H12, H13: pools and hosts that end and begin again, whatever is late, lost or cut off",
  async () => {
    if (ONLY !== undefined) return await run(Number(ONLY));
    const begun = performance.now();
    for (let seed = 1; seed <= SEEDS || performance.now() - begun < SECONDS * 1_000; seed += 1)
      await run(seed);
    console.info([...reached].map(([what, times]) => `${what} ${times}`).join(", "));
    for (const what of ["drain", "cancel", "make", "split", "remove", "register"]) {
      expect(reached.get(what) ?? 0, what).toBeGreaterThan(0);
    }
    expect(reached.get("incarnations") ?? 0).toBeGreaterThan(SEEDS);
  },
  (SECONDS + 240) * 1_000,
);
