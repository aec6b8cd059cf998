/**
 * An explanation tells what an allocation right after it is answered, and leaves no trace.
 * Random situations on the simulated platform.
 */
import { expect, test } from "vitest";
import type { Shortfall } from "../../src/core/errors.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { AllocateRefusal, ExplanationView, HostAllocateRequest } from "../../src/rpc/host.ts";
import { noteCases } from "../support/cases.ts";
import { factor, isUsual, range, seeds } from "../support/seeds.ts";
import { deploy } from "../support/simulation/deployment.ts";
import { Random } from "../support/simulation/random.ts";
import { CLASSES } from "../support/simulation/scene.ts";

const SEEDS = seeds(range(1, 40));
const QUESTIONS = 14;
const HOSTS = ["a", "b", "c"];
const LABELS = [{ zone: "x" }, { zone: "y" }, {}];
/** Verdicts that the situations are about: one that was never met proves nothing. */
const MET = [
  "yes",
  "reused",
  "requested_pool_unavailable",
  "no_qualified_pool",
  "no_pool_selects_host",
  "handle_limit_reached",
  "block_limit_reached",
  "auto_allocate_disabled",
  "strict_affinity",
  "pool_cooling",
  "pool_exhausted",
  "maintenance",
  "host_unknown",
];

/** Rules that refusals and explanations of these situations must have named. */
const RULES = [
  "ok",
  "pool_disabled",
  "manual_only",
  "not_requested",
  "node_selector",
  "use_not_allowed",
  "full",
  "cooling",
  "reserved",
  "cap_reached",
  "auto_allocate_off",
  "strict_affinity",
  "no_unclaimed_block",
];

type Deployed = ReturnType<typeof deploy>;

/** A deployment with everything that decides about an allocation drawn by chance. */
class Situation {
  readonly random: Random;
  readonly deployed: Deployed;
  readonly handles: string[] = [];
  #keys = 0;

  constructor(seed: number) {
    this.random = new Random(seed * 7919);
    this.deployed = deploy(CLASSES, { seed, leasesOf: seed % 2 === 0 ? "object" : "process" });
  }

  async open(): Promise<void> {
    const { random, deployed } = this;
    const { world, ports } = deployed;
    const strict = random.chance(0.5);
    const patch = {
      strictAffinity: strict,
      ...(strict && random.chance(0.6) ? { maxBlocksPerHost: 1 + random.below(2) } : {}),
      ...(random.chance(0.5) ? { ipCooldownSeconds: 120 } : {}),
    };
    await world.during(ports.cluster().changeConfig({ patch, by: "test" }));
    for (const [index, name] of ["p", "q", "r"].entries()) {
      const spec = {
        cidr: `10.0.${index}.0/${27 + random.below(2)}`,
        blockSize: random.pick([29, 30, 30, 31]),
        disabled: random.chance(0.15),
        ...(random.chance(0.3) ? { nodeSelector: "zone == 'x'" } : {}),
        ...(random.chance(0.15) ? { assignmentMode: "Manual" } : {}),
        ...(random.chance(0.1) ? { allowedUses: ["Tunnel"] } : {}),
        ...(random.chance(0.15) ? { answerPrefix: "pool" } : {}),
      };
      if (index > 0 && random.chance(0.5)) continue;
      await world.during(ports.cluster().putPool({ name, spec, by: "test" }));
    }
    const six = { cidr: "fd00::/125", blockSize: random.pick([126, 127, 128]) };
    if (random.chance(0.7))
      await world.during(ports.cluster().putPool({ name: "six", spec: six, by: "test" }));
    for (const [index, host] of HOSTS.entries()) {
      await world.during(ports.host(host).register({ host, labels: LABELS[index] ?? {} }));
    }
  }

  /** Something that happens between two questions. */
  async change(): Promise<void> {
    const { random, deployed } = this;
    const { world, ports } = deployed;
    const what = random.below(11);
    if (what < 4) await this.allocate(this.wish(1 + random.below(8)));
    else if (what < 6) await this.release();
    else if (what === 6) await world.advance(random.pick([2_000, 70_000, 130_000]));
    else if (what === 7) {
      const first = random.below(24);
      const spec = { reservedCIDRs: [`10.0.${random.below(2)}.${first}`, `10.0.0.${first & 28}/30`] };
      const name = random.pick(["one", "two"]);
      if (random.chance(0.6)) await world.during(ports.cluster().putReservation({ name, spec, by: "test" }));
      else await world.during(ports.cluster().deleteReservation({ name, by: "test" }));
    } else if (what === 10) {
      const nodeSelector = random.pick(["zone == 'x'", "zone != 'x'", "all()"]);
      const patch = { nodeSelector };
      await world.during(ports.cluster().patchPool({ name: random.pick(["p", "q"]), patch, by: "test" }));
    } else if (what === 8) {
      const patch = { disabled: random.chance(0.4) };
      await world.during(ports.cluster().patchPool({ name: random.pick(["p", "q"]), patch, by: "test" }));
    } else {
      const patch = random.pick([
        { strictAffinity: true },
        { strictAffinity: true, autoAllocateBlocks: false },
        { autoAllocateBlocks: true, maintenance: false },
        { maintenance: random.chance(0.2) },
      ]);
      await world.during(ports.cluster().changeConfig({ patch, by: "test" }));
    }
  }

  wish(count = 1 + this.random.below(6)): HostAllocateRequest {
    const { random } = this;
    const host = random.chance(0.04) ? "nobody" : random.pick(HOSTS);
    const isKnown = this.handles.length > 0 && random.chance(0.25);
    const handle = isKnown ? random.pick(this.handles) : `h${this.handles.length}`;
    const pools = random.chance(0.15) ? { pools: [random.pick(["p", "q", "10.0.0.0/9"])] } : {};
    const families = random.pick(["four", "four", "four", "six", "both"]);
    this.#keys += 1;
    return {
      host,
      handle,
      key: `key-${this.#keys}`,
      fingerprint: "f",
      use: random.chance(0.1) ? "Tunnel" : "Workload",
      ...(families === "six" ? {} : { ipv4: { count, ...pools } }),
      ...(families === "four" ? {} : { ipv6: { count: 1 + random.below(3) } }),
      attributes: { node: host },
      partial: random.chance(0.2),
      leakCollection: "auto",
      ...(random.chance(0.3) ? { maxPerHandle: 1 + random.below(4) } : {}),
      ...(random.chance(0.2) ? { maxBlocksPerHost: 1 + random.below(3) } : {}),
      ...(random.chance(0.1) ? { hostReserved: { ipv4: { start: 1, end: 0 } } } : {}),
    };
  }

  async allocate(wish: HostAllocateRequest) {
    const { world, ports } = this.deployed;
    const answer = await world.during(ports.host(wish.host).allocate(wish));
    if (answer.ok && !this.handles.includes(wish.handle)) this.handles.push(wish.handle);
    return answer;
  }

  /** Gives back what one handle holds, in the index and in its blocks. */
  async release(): Promise<void> {
    const { world, ports } = this.deployed;
    if (this.handles.length === 0) return;
    const [handle = ""] = this.handles.splice(this.random.below(this.handles.length), 1);
    const { rows } = await world.during(ports.handleIndex(handle).list({ handle }));
    const { policy } = (await world.during(ports.cluster().policy({}))) ?? {};
    const cooldownMs = (policy?.config.ipCooldownSeconds ?? 0) * 1000;
    for (const { block, key, until } of rows) {
      const keys = [{ key, finalAfter: until }];
      await world.during(ports.block(block).releaseHandle({ block, handle, keys, cooldownMs }));
      const items = [{ handle, key, block, until, outcome: "released" as const }];
      await world.during(ports.handleIndex(handle).settle({ items }));
    }
  }

  /** All is told, and whatever may still land has landed. */
  async settle(): Promise<void> {
    await this.deployed.world.advance(6_000);
  }
}

async function explained(situation: Situation, wish: HostAllocateRequest): Promise<ExplanationView> {
  const { world, ports } = situation.deployed;
  const { key: _key, fingerprint: _fingerprint, ...question } = wish;
  const answer = await world.during(ports.host(wish.host).explain(question));
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
}

/** All rows of all objects but Cluster's, whose leases move its horizon. */
function written(situation: Situation): string {
  const { world } = situation.deployed;
  const tables = (name: string) =>
    world
      .rows(name, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .map((row) => String(row.name));
  const all = world.objectNames
    .filter((name) => !name.startsWith("cluster") && tables(name).length > 0)
    .map((name) => [name, tables(name).map((table) => world.rows(name, `SELECT * FROM "${table}"`))]);
  return JSON.stringify(all, (_name, value) =>
    value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value,
  );
}

function shortfallOf({ evidence }: AllocateRefusal) {
  return "shortfall" in evidence ? evidence.shortfall : undefined;
}

/** Each pool of the family once, those first, then blocks; no more than may be listed. */
function checkConsidered(
  { family, considered, code }: Pick<Shortfall, "family" | "considered"> & { code?: string | undefined },
  policy: Policy,
  where: string,
): void {
  if (code === "host_unknown" || code === "maintenance") {
    expect(considered, where).toEqual([]);
    return;
  }
  const pools = considered.filter(({ kind, rule }) => kind === "pool" && rule !== "wrong_family");
  const ofFamily = policy.pools.filter((pool) => pool.family === family).map(({ name }) => name);
  expect(pools.map(({ pool }) => pool).toSorted(), where).toEqual(ofFamily.toSorted());
  const kinds = considered.map(({ kind }) => kind);
  expect(kinds, where).toEqual(kinds.toSorted().toReversed());
  // A block that was not given up may be borrowed from: two rules, each told once.
  const ofBlocks = considered.filter(({ kind }) => kind === "block");
  const blocks = ofBlocks.map(({ block, rule }) => `${block} ${rule}`);
  expect(new Set(blocks).size, where).toBe(blocks.length);
}

async function run(seed: number, met: Map<string, number>): Promise<void> {
  const situation = new Situation(seed);
  await situation.open();
  for (let question = 0; question < QUESTIONS; question += 1) {
    const changes = 1 + situation.random.below(4);
    for (let change = 0; change < changes; change += 1) await situation.change();
    await situation.settle();
    const wish = situation.wish();
    const before = written(situation);
    const told = await explained(situation, wish);
    expect(written(situation), `seed ${seed} question ${question}: nothing is written`).toBe(before);
    const got = await situation.allocate(wish);
    const where = `seed ${seed} question ${question}: ${JSON.stringify({ wish, told, got })}`;
    expect(got.ok, where).toBe(told.wouldSucceed);
    const codes = (families: readonly { family: number; code?: string }[]) =>
      families.filter(({ code }) => code !== undefined).map(({ family, code }) => `${family} ${code}`);
    const shortfall = got.ok ? got.value.shortfall : shortfallOf(got.error);
    // A refusal that is not about room names no family.
    if (shortfall !== undefined) expect(codes(told.families), where).toEqual(codes(shortfall));
    else if (!got.ok)
      expect(
        told.families.map(({ code }) => code),
        where,
      ).toContain(got.error.code);
    const { policy } = await situation.deployed.world.during(situation.deployed.ports.cluster().policy({}));
    if (policy === undefined) throw new Error("no policy");
    const listed = [...told.families, ...(shortfall ?? [])];
    for (const one of listed) checkConsidered({ ...one, considered: [...one.considered] }, policy, where);
    for (const { rule } of listed.flatMap(({ considered }) => considered)) {
      met.set(rule, (met.get(rule) ?? 0) + 1);
    }
    if (got.ok) {
      const foreseen = told.families.reduce((sum, { allocated }) => sum + allocated, 0);
      expect(foreseen, where).toBe(got.value.addresses.length);
    }
    const verdict = got.ok ? (got.value.reused ? "reused" : "yes") : got.error.code;
    met.set(verdict, (met.get(verdict) ?? 0) + 1);
  }
}

test(
  "an explanation and the allocation right after it agree, and the explanation changes nothing",
  async () => {
    const met = new Map<string, number>();
    for (const seed of SEEDS) await run(seed, met);
    noteCases(SEEDS.length);
    if (isUsual) expect([...MET, ...RULES].filter((what) => !met.has(what))).toEqual([]);
  },
  120_000 * factor,
);
