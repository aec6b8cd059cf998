/**
 * Random clients of a whole deployment, under faults of chance; then repair, and all that must hold.
 * May import: the simulation, src. Equal seeds give equal runs.
 */
import type { Result } from "../../../src/core/result.ts";
import type { ClusterPort } from "../../../src/rpc/cluster.ts";
import { checkCap, checkHistory, checkLimits, checkRows, snapshot } from "./checker.ts";
import { changeOwner, claimBlock, giveUpBlocks, setOwners } from "./operators.ts";
import { Random } from "./random.ts";
import { type Asked, type Ended, FAILURES, Scene, type Told } from "./scene.ts";
import { Watch, watched } from "./watch.ts";
import type { Faults } from "./world.ts";

export interface Ran {
  readonly findings: readonly string[];
  readonly reached: ReadonlyMap<string, number>;
  readonly operations: number;
  /** What clients saw, and the last messages; for a failing seed. */
  readonly trace: () => string;
}

const POOLS = {
  v4: { cidr: "10.0.0.0/28", blockSize: 30 },
  other: { cidr: "10.0.1.0/29", blockSize: 30 },
  v6: { cidr: "fd00::/125", blockSize: 126 },
};
/** Blocks of both pools of IPv4, and of the one of IPv6. */
const BLOCKS = { v4: 6, v6: 2 };
const SKEW_MS = 100;
const PATIENCE_MS = 3_000;
const HANDLES = ["h1", "h2", "h3", "h4", "h5", "h6"];
const LIMITED = [
  ["limit1", 1],
  ["limit2", 2],
] as const;

/** What a seed decides once: how many hosts, which cap, how rough the network is. */
interface Profile {
  readonly hosts: readonly string[];
  readonly cap: number;
  readonly faults: Faults;
  readonly operations: number;
}

function profileOf(scene: { next(): number; below(n: number): number; chance(p: number): boolean }): Profile {
  const hosts = ["a", "b", "c", "d"].slice(0, 2 + scene.below(3));
  const rough = scene.chance(0.5) ? 0.5 : 1.5;
  return {
    hosts,
    cap: scene.chance(0.4) ? 1 + scene.below(2) : 0,
    operations: 60,
    faults: {
      delay: [0.5, 6],
      late: 0.02 * rough,
      lateMax: 4_000,
      loseRequest: 0.01 * rough,
      loseAnswer: 0.01 * rough,
      noticed: 0.7,
      misreport: 0.01 * rough,
      crashBeforeCommit: 0.004 * rough,
      crashAfterCommit: 0.004 * rough,
      evict: 0.004 * rough,
      supersede: 0.004 * rough,
    },
  };
}

export class Workload {
  readonly scene: Scene;
  readonly watch: Watch;
  readonly #profile: Profile;
  readonly #findings = new Set<string>();
  readonly #lines: string[] = [];
  #policyRuns = false;

  private constructor(scene: Scene, watch: Watch, profile: Profile) {
    this.scene = scene;
    this.watch = watch;
    this.#profile = profile;
  }

  static async run(seed: number): Promise<Ran> {
    const watch = new Watch();
    const profile = profileOf(new Random(seed * 7 + 1));
    const { cap, hosts } = profile;
    const config = cap > 0 ? { strictAffinity: true, maxBlocksPerHost: cap } : { strictAffinity: false };
    const scene = await Scene.open({
      seed,
      pools: POOLS,
      hosts,
      config,
      classes: watched(watch),
      settings: {
        leaseMs: 1_000,
        skewMs: SKEW_MS,
        reclaimAgeMs: 2_000,
        indexPassMs: 20_000,
        laneBatches: 1 + (seed % 2),
      },
      clockOffset: (_place, random) => Math.round(random.between(-SKEW_MS / 2, SKEW_MS / 2)),
      faults: profile.faults,
    });
    watch.obeyed.strict = cap > 0;
    const workload = new Workload(scene, watch, profile);
    await workload.#work();
    await workload.#settle();
    await workload.#finish();
    const { operations } = profile;
    scene.world.dispose();
    const trace = () => [...workload.#lines, scene.world.report(60)].join("\n");
    return {
      findings: [...workload.#findings, ...watch.findings],
      reached: watch.reached,
      operations,
      trace,
    };
  }

  get #random() {
    return this.scene.world.random;
  }

  async #work(): Promise<void> {
    const { world } = this.scene;
    for (let step = 0; step < this.#profile.operations; step += 1) {
      this.#operate();
      if (this.#random.chance(0.04)) world.evict(this.#random.pick(world.objectNames));
      const pause = this.#random.chance(0.08)
        ? this.#random.between(500, 3_000)
        : this.#random.between(0, 60);
      await world.advance(pause);
      this.#look();
    }
  }

  /** What holds at any time. */
  #look(): void {
    const seen = snapshot(this.scene);
    const { cap } = this.#profile;
    const found = [
      ...checkRows(seen),
      ...checkLimits(this.scene, seen),
      ...(cap > 0 ? checkCap(seen, cap) : []),
    ];
    for (const finding of found) this.#note(finding);
  }

  #note(finding: string): void {
    if (this.#findings.has(finding)) return;
    this.#findings.add(finding);
    this.#line(`FOUND ${finding}`);
  }

  #line(text: string): void {
    this.#lines.push(`${this.scene.world.scheduler.now.toFixed(1)} ${text}`);
  }

  #operate(): void {
    const random = this.#random;
    const draw = random.next();
    if (draw < 0.4) this.#allocate();
    else if (draw < 0.55) this.#repeat();
    else if (draw < 0.62) this.#assign();
    else if (draw < 0.78) this.#releaseHandle(random.pick([...HANDLES, "limit1", "limit2"]));
    else if (draw < 0.87) this.#releaseAddress();
    else if (draw < 0.9) this.#moveBlocks();
    else if (draw < 0.93) this.#changeOwners();
    else this.#changePolicy();
  }

  /** An operator claims a block, or takes from a host what it has. */
  #moveBlocks(): void {
    const { scene } = this;
    const random = this.#random;
    const host = random.pick(this.#profile.hosts);
    // No cap refuses an explicit claim, so that rows could not be held against it.
    if (this.#profile.cap > 0 || random.chance(0.5)) {
      this.#tell(`give up ${host}`, giveUpBlocks(scene, host, random.chance(0.7)));
      return;
    }
    const block = `10.0.0.${4 * random.below(4)}/30`;
    this.#tell(`claim block ${host} ${block}`, claimBlock(scene, host, "v4", block));
  }

  /** A migration: owners are set on an address, or one is moved on all of a handle. */
  #changeOwners(): void {
    const { scene } = this;
    const random = this.#random;
    const known = scene.asked.flatMap((asked) => toldTo(asked).map((told) => ({ ...told, ...asked })));
    if (known.length === 0) return;
    const one = random.pick(known.slice(-8));
    const pods = { active: random.pick(["", "x"]), alternate: random.pick(["", "y", "y"]) };
    const change = random.pick(["promote", "clear"] as const);
    const owner = { namespace: "n", pod: random.pick(["x", "y", "y"]) };
    const wish = { handle: one.handle, change, owner, releaseWhenUnowned: false };
    const set = setOwners(scene, one, pods);
    this.#tell("owners set", set);
    this.#tell(
      `owner ${change}`,
      set.then(() => changeOwner(scene, wish)),
    );
  }

  #tell(what: string, answer: Promise<string[]>): void {
    this.#line(what);
    const name = what.split(" ").slice(0, 2).join(" ");
    void answer.then((told) => {
      for (const one of told) this.watch.count(`${name} ${one}`);
      this.#line(`  ${what}: ${told.join(" ")}`);
    });
  }

  #allocate(): void {
    const random = this.#random;
    const host = random.pick(this.#profile.hosts);
    const [v4, v6] = random.pick([
      [1, 0],
      [1, 0],
      [2, 0],
      [0, 1],
      [1, 1],
      [1, 1],
      [3, 2],
    ] as const);
    if (random.chance(0.2)) {
      const [handle, maxPerHandle] = random.pick(LIMITED);
      this.#follow(this.scene.allocate(host, { handle, maxPerHandle, v4: 1, v6: 0 }));
    } else if (random.chance(0.3)) {
      // Two requests for blocks of different pools at a time: only the cap's own transaction is in their way.
      for (const pools of [["v4"], ["other"]]) {
        this.#follow(this.scene.allocate(host, { handle: random.pick(HANDLES), v4: 1, pools }));
      }
    } else {
      this.#follow(this.scene.allocate(host, { handle: random.pick(HANDLES), v4, v6 }));
    }
  }

  /** The same request with its key once more: after a failure, or as a replay. */
  #repeat(): void {
    const candidates = this.scene.asked.filter(({ what }) => what === "allocate").slice(-12);
    if (candidates.length === 0) return;
    const { host, handle, key, counts, limit, pools } = this.#random.pick(candidates);
    const named = pools === undefined ? {} : { pools };
    const wish = { handle, key, v4: counts[4], v6: counts[6], ...named };
    this.#follow(this.scene.allocate(host, limit === undefined ? wish : { ...wish, maxPerHandle: limit }));
  }

  #assign(): void {
    // An explicit claim is refused by no cap, so that rows could not be held against it.
    if (this.#profile.cap > 0) {
      this.#allocate();
      return;
    }
    const address = `10.0.0.${this.#random.below(16)}`;
    this.#follow(
      this.scene.assign(this.#random.pick(this.#profile.hosts), this.#random.pick(HANDLES), address),
    );
  }

  #releaseHandle(handle: string): void {
    const at = this.scene.released.length;
    void this.scene.release(handle);
    this.#line(`release #${at} ${handle}`);
  }

  #releaseAddress(): void {
    const random = this.#random;
    const known = this.scene.asked.flatMap((asked) => toldTo(asked).map((told) => ({ asked, told })));
    // Early ones are stale more often.
    if (known.length === 0) return;
    const { asked, told } = random.pick(known.slice(-20));
    const number = { sequenceNumber: told.sequenceNumber };
    const guard = random.chance(0.2)
      ? { handle: "stranger" }
      : random.chance(0.2)
        ? { handle: asked.handle }
        : number;
    const { address, block } = told;
    this.#line(`release ${address} ${JSON.stringify(guard)}`);
    void this.scene.releaseAddress(block, { address, ...guard });
  }

  #follow(answer: Promise<Ended>): void {
    const asked = this.scene.asked.at(-1) as Asked;
    const { what, host, handle, key, counts } = asked;
    this.#line(`${what} ${host} ${handle} ${key} v4 ${counts[4]} v6 ${counts[6]}`);
    void answer.then((ended) => {
      if (ended.kind === "refused") this.watch.count(`answer ${ended.code}`);
      const got = ended.kind === "ok" ? ended.addresses.map(text).join(" ") : "";
      this.#line(`  ${key}: ${ended.kind === "refused" ? ended.code : ended.kind} ${got}`);
    });
  }

  #changePolicy(): void {
    if (this.#policyRuns) return;
    this.#policyRuns = true;
    const random = this.#random;
    const kind = random.below(this.#profile.cap > 0 ? 3 : 4);
    const change = [
      () => this.#config("cooldownMs", { ipCooldownSeconds: random.pick([0, 1, 2]) }),
      () => this.#reserve(`10.0.0.${random.below(16)}`),
      () => this.#disable(random.chance(0.3)),
      () => this.#config("strict", { strictAffinity: random.chance(0.5) }),
    ][kind] as () => Promise<void>;
    void change().finally(() => {
      this.#policyRuns = false;
    });
  }

  async #config(
    name: "strict" | "cooldownMs",
    patch: { strictAffinity?: boolean; ipCooldownSeconds?: number },
  ) {
    this.watch.obeyed[name] = undefined;
    await this.#insist(`config ${JSON.stringify(patch)}`, async (cluster, policy) => {
      return await cluster.changeConfig({ patch, by: "test", ifRevision: policy.config.revision });
    });
    if (patch.strictAffinity !== undefined) this.watch.obeyed.strict = patch.strictAffinity;
    else this.watch.obeyed.cooldownMs = (patch.ipCooldownSeconds ?? 0) * 1000;
  }

  async #reserve(address: string): Promise<void> {
    this.watch.obeyed.reserved = undefined;
    const spec = { reservedCIDRs: [`${address}/32`] };
    await this.#insist(`reserve ${address}`, async (cluster, { reservations }) => {
      return await cluster.putReservation({
        name: "one",
        spec,
        by: "test",
        ifRevision: reservations[0]?.revision ?? 0,
      });
    });
    this.watch.obeyed.reserved = address;
  }

  async #disable(disabled: boolean): Promise<void> {
    this.watch.obeyed.disabled = undefined;
    await this.#insist(`disabled ${disabled}`, async (cluster, { pools }) => {
      const revision = pools.find(({ name }) => name === "v4")?.revision ?? 0;
      return await cluster.patchPool({ name: "v4", patch: { disabled }, by: "test", ifRevision: revision });
    });
    this.watch.obeyed.disabled = disabled;
  }

  /** Writes until it is acknowledged; the guard keeps late copies of the write from taking effect later. */
  async #insist(
    what: string,
    write: (cluster: ClusterPort, policy: PolicyRead) => Promise<Result<unknown, unknown>>,
  ): Promise<void> {
    this.#line(`policy ${what}`);
    for (let round = 0; round < 50; round += 1) {
      const cluster = this.scene.deployed.ports.cluster();
      const read = await this.#patient(cluster.policy({}));
      const answer =
        read?.policy === undefined ? undefined : await this.#patient(write(cluster, read.policy));
      if (answer?.ok === true) {
        this.#line(`policy ${what}: acknowledged`);
        return;
      }
      await this.scene.world.sleep(100);
    }
    this.#note(`liveness: ${what} was never acknowledged`);
  }

  async #patient<T>(answer: Promise<T>, ms = PATIENCE_MS): Promise<T | undefined> {
    const none = () => undefined;
    return await Promise.race([answer.catch(none), this.scene.world.sleep(ms).then(none)]);
  }

  /** The faults end; what is under way comes to its end. */
  async #settle(): Promise<void> {
    const { world } = this.scene;
    world.faults = {};
    this.#line("faults end");
    await world.advance(15_000);
    if (this.#policyRuns) await world.advance(200_000);
    this.#look();
    const seen = snapshot(this.scene);
    for (const finding of checkHistory(this.scene, seen)) this.#note(finding);
  }

  /** Liveness: everything can be released, and every empty block can be had. */
  async #finish(): Promise<void> {
    const { world, asked } = this.scene;
    await world.during(this.#disable(false));
    await world.during(this.#config("cooldownMs", { ipCooldownSeconds: 0 }));
    await world.during(this.#reserve("10.0.0.255"));
    for (const host of this.#profile.hosts) await this.#must(host, `last-${host}`);
    for (const handle of new Set(asked.map((ask) => ask.handle))) {
      const released = await world.during(this.scene.release(handle));
      if (released?.kind !== "ok")
        this.#note(`liveness: release of ${handle} ended ${JSON.stringify(released)}`);
    }
    await world.advance(700_000);
    const left = snapshot(this.scene);
    for (const finding of checkRows(left)) this.#note(finding);
    for (const { block, held } of left.blocks) {
      for (const one of held)
        this.#note(`I4: ${one.address} in ${block} is held by ${one.handle} after all was released`);
    }
    await world.during(this.#config("strict", { strictAffinity: true }));
    for (let n = 0; n < BLOCKS.v4; n += 1) {
      const host = `fresh-${n}`;
      await this.scene.register(host);
      const wish = { handle: host, v4: 1, v6: n < BLOCKS.v6 ? 1 : 0 };
      let ended = await world.during(this.scene.allocate(host, wish));
      for (let again = 0; again < 3 && ended.kind !== "ok"; again += 1) {
        await world.advance(5_000);
        ended = await world.during(this.scene.allocate(host, wish));
      }
      if (ended.kind !== "ok")
        this.#note(`liveness: ${host} got no block though one is empty: ${JSON.stringify(ended)}`);
    }
    this.#look();
  }

  /** A request after the faults may be refused for want of room, but not fail. */
  async #must(host: string, handle: string): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      const ended = await this.scene.world.during(this.scene.allocate(host, { handle }));
      if (ended.kind === "ok" || (ended.kind === "refused" && !FAILURES.has(ended.code))) return;
      await this.scene.world.advance(3_000);
    }
    this.#note(`liveness: ${host} is answered nothing though no faults are left`);
  }
}

type PolicyRead = NonNullable<Awaited<ReturnType<ClusterPort["policy"]>>["policy"]>;

function toldTo({ ended }: Asked): readonly Told[] {
  return ended?.kind === "ok" ? ended.addresses : [];
}

function text({ address, sequenceNumber }: Told): string {
  return `${address}#${sequenceNumber}`;
}
