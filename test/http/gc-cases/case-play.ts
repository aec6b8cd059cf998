/**
 * Plays one case of the collector on a service: what a step does, what it brings about.
 * May import: the cases' own files, the cluster in memory. Rule: it does what callers can do, and no more.
 */
import { changeWorld } from "../../core/leak-case-steps.ts";
import type { AllocationGiven, BlockGiven, Given, LeakCase, StepGiven } from "../../core/leak-vocabulary.ts";
import { LeakWorld } from "../../core/leak-world.ts";
import { CaseCluster } from "./case-cluster.ts";
import { type Answers, routable } from "./case-compare.ts";
import { type Look, look, seriesOf } from "./case-look.ts";
import { AgentPass, type CasePass, ClusterPass } from "./case-pass.ts";
import * as make from "./case-seed.ts";
import { CaseService } from "./case-service.ts";

/** Plays a case to its end, by what agents report; gives what each step brought about. */
export async function play(given: LeakCase): Promise<Answers[]> {
  return await staged(routable(given), undefined);
}

/** The same by what an API server tells, and no agent. */
export async function playWithCluster(given: LeakCase): Promise<Answers[]> {
  const cluster = await CaseCluster.start();
  try {
    return await staged(routable(given), cluster);
  } finally {
    await cluster.stop();
  }
}

async function staged(one: LeakCase, cluster: CaseCluster | undefined): Promise<Answers[]> {
  const service = await CaseService.start(cluster?.access);
  try {
    return await new Scene(service, one, cluster).play();
  } finally {
    await service.stop();
  }
}

const NOTHING: Look = {
  allocated: [],
  cooling: [],
  candidates: [],
  confirmed: [],
  owners: new Map(),
  pools: {},
  isPaused: false,
};

class Scene {
  readonly #service: CaseService;
  readonly #case: LeakCase;
  readonly #world: LeakWorld;
  readonly #pass: CasePass;
  /** A cluster tells which nodes are lost; else an operator takes hosts out. */
  readonly #hasCluster: boolean;
  #before: Look = NOTHING;
  /** Hosts that are there no more; true once nothing of them is left. */
  readonly #lost = new Map<string, boolean>();

  constructor(service: CaseService, one: LeakCase, cluster: CaseCluster | undefined) {
    const nothing = { nodes: [], pods: [], vms: [], blocks: [], allocations: [], config: {} };
    this.#service = service;
    this.#case = one;
    this.#world = new LeakWorld({ ...nothing, ...one.given } as Given);
    this.#hasCluster = cluster !== undefined;
    this.#pass =
      cluster === undefined
        ? new AgentPass(service, this.#world)
        : new ClusterPass(service, this.#world, cluster);
  }

  async play(): Promise<Answers[]> {
    const { given, steps } = this.#case;
    const { pools = [] } = given as { pools?: make.PoolGiven[] };
    // A host that cannot be looked up is silent, and nobody has taken it out.
    const silent = steps.flatMap(({ op, kind, key }) =>
      op === "fail_lookup" && kind === "calico_node" ? [String(key)] : [],
    );
    const { lost } = make.hostsOf(given);
    await make.seed(this.#service, given, pools, this.#hasCluster ? lost : silent);
    const isAnyLost = lost.length > 0 || steps.some(({ op }) => op === "k8s_node_delete");
    await this.#pass.begin(lost, isAnyLost);
    for (const host of lost) if (!silent.includes(host)) this.#lost.set(host, false);
    const { allocations = [], blocks = [] } = given;
    const held = allocations.filter(({ handle }) => handle !== null).map(({ ip }) => ip);
    const owners = new Map(blocks.map(({ cidr, affinity }) => [cidr, make.hostOf(affinity)]));
    this.#before = { ...NOTHING, allocated: held, owners };
    const answers: Answers[] = [];
    for (const step of steps) {
      this.#world.now = step.at_seconds * 1000;
      answers.push(await this.#perform(step));
    }
    return answers;
  }

  async #perform(step: StepGiven): Promise<Answers> {
    if (step.op === "release_ips") return await this.#releaseIps(step);
    if (step.op === "sync") {
      const lost = [...this.#lost.values()].filter((isOver) => !isOver);
      await this.#pass.pass(step.at_seconds, lost.length);
    } else {
      await this.#service.goOnAt(step.at_seconds);
      await this.#change(step);
      changeWorld(this.#world, step);
    }
    return await this.#answers(step);
  }

  /** What of a step callers of the service do; what only changes the cluster, agents will tell. */
  async #change(step: StepGiven): Promise<void> {
    const name = String(step.name);
    switch (step.op) {
      case "k8s_node_delete": {
        const host = this.#world.hostOf(name);
        if (host !== undefined) await this.#remove(host);
        return;
      }
      case "calico_node_delete":
        if (!this.#lost.has(name)) await this.#remove(name);
        return;
      case "k8s_node_add":
        return await make.register(this.#service, name, step.labels as Readonly<Record<string, string>>);
      case "block_put":
        return await this.#putBlock(step.block as BlockGiven);
      case "alloc_put":
        return await this.#putAllocation(step.allocation as AllocationGiven);
      case "alloc_delete":
        return await this.#release(String(step.ip));
      case "set_config":
        return await make.configure(this.#service, step.config as Given["config"]);
      case "pool_delete":
        await this.#service.must("DELETE", `/v1/pools/${name}`);
        return;
      case "pool_put":
        return await this.#putPool(step.pool as make.PoolGiven);
      case "fail_lookup":
      case "pod_put":
      case "pod_delete":
        return;
      case "inject":
        if (step.target === "cold_gc") return;
        break;
      default:
    }
    throw new Error(`no caller does that: ${step.op}`);
  }

  async #remove(host: string): Promise<void> {
    this.#lost.set(host, false);
    if (!this.#hasCluster) await make.remove(this.#service, host);
  }

  async #putBlock(block: BlockGiven): Promise<void> {
    if (this.#world.blocks.has(block.cidr)) return await this.#disown(block.cidr);
    const pool = { cidr: block.cidr, blockSize: Number(block.cidr.split("/")[1]) };
    await this.#service.must("PUT", `/v1/pools/later-${this.#world.blocks.size}`, pool);
    await make.claim(this.#service, block);
  }

  /** A pool over one that drains is refused: then there is none. */
  async #putPool({ name, cidr }: make.PoolGiven): Promise<void> {
    const { status, text } = await this.#service.send("PUT", `/v1/pools/${name}`, { cidr });
    if (status >= 300 && status !== 409) throw new Error(`PUT ${name}: ${status} ${text}`);
  }

  async #putAllocation(one: AllocationGiven): Promise<void> {
    if (this.#world.stored.has(one.ip) && this.#before.allocated.includes(one.ip)) {
      await this.#release(one.ip);
    }
    await make.allocate(this.#service, one);
    this.#before = { ...this.#before, allocated: [...this.#before.allocated, one.ip] };
  }

  async #release(ip: string): Promise<void> {
    await make.release(this.#service, ip);
    this.#before = { ...this.#before, allocated: this.#before.allocated.filter((one) => one !== ip) };
  }

  async #disown(cidr: string): Promise<void> {
    await make.disown(this.#service, cidr);
    this.#before = { ...this.#before, owners: new Map([...this.#before.owners, [cidr, undefined]]) };
  }

  async #releaseIps(step: StepGiven): Promise<Answers> {
    await this.#service.goOnAt(step.at_seconds);
    const given = step.opts as { ip: string; handle: string; seq: number }[];
    const addresses = given.map(({ ip, handle, seq }) => ({ address: ip, handle, sequenceNumber: seq }));
    const body = await this.#service.must("POST", "/v1/releases", { addresses });
    const results = body.results as { address: string; outcome: string; code?: string }[];
    const of = (...outcomes: string[]) =>
      results.filter(({ outcome }) => outcomes.includes(outcome)).map(({ address }) => address);
    return {
      released: of("released"),
      unallocated: of("already_free", "not_in_any_block"),
      error: results.find(({ outcome }) => outcome === "rejected")?.code ?? null,
    };
  }

  async #answers(step: StepGiven): Promise<Answers> {
    const now = await look(this.#service);
    const held = { candidates: now.candidates, confirmed: now.confirmed };
    const blocks = { blocks_left: [...now.owners.keys()], blocks_left_count: now.owners.size };
    const metrics = await seriesOf(this.#service, step.expect.metrics);
    const seen = { ...held, ...blocks, ...Object.fromEntries(metrics) };
    const all = { ...seen, allocated: now.allocated, cooling: now.cooling, pool_of: now.pools };
    return step.op === "sync" ? { ...all, ...(await this.#done(now)) } : all;
  }

  /** What the collector did since the last sync. */
  async #done(now: Awaited<ReturnType<typeof look>>): Promise<Answers> {
    const before = this.#before;
    this.#before = now;
    const released = before.allocated.filter((ip) => !now.allocated.includes(ip));
    const given = [...before.owners].filter(([block, owner]) => {
      return owner !== undefined && !this.#lost.has(owner) && now.owners.get(block) === undefined;
    });
    const nodesReleased: string[] = [];
    const nodesFailed: string[] = [];
    for (const [host, isOver] of this.#lost) {
      if (isOver) continue;
      const isOwner = [...now.owners.values()].includes(host);
      const hasLeft = await this.#hasLeft(host);
      // A block that a lost node has still, with nothing of it inside, only cools.
      const isWaiting = this.#hasCluster && isOwner && !hasLeft;
      if (isWaiting || now.leaks.some((one) => one.host === host)) nodesFailed.push(host);
      if (isOwner || hasLeft) continue;
      this.#lost.set(host, true);
      nodesReleased.push(host);
    }
    const isOpen = now.confirmed.length > 0 || nodesFailed.length > 0;
    return {
      released,
      released_count: released.length,
      blocks_released: given.map(([block]) => block),
      blocks_released_count: given.length,
      nodes_released: nodesReleased,
      nodes_failed: nodesFailed,
      result: now.isPaused ? "skipped" : isOpen ? "work_remaining" : "ok",
    };
  }

  async #hasLeft(host: string): Promise<boolean> {
    if (this.#hasCluster) {
      return (await this.#service.all(`/v1/allocations?host=${host}`)).length > 0;
    }
    const { status, body } = await this.#service.send("GET", `/v1/hosts/${host}`);
    return status !== 404 && body.allocationsLeft !== 0;
  }
}
