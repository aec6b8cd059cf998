/**
 * The passes of a check: pools' free space, blocks of the directories, rows of the Hosts, then those of
 * the index, then suspected leaks; a bounded part at a time. May import: core, rpc, platform. Rule: looking writes nothing.
 */
import type { CheckRequest } from "../src/core/check.ts";
import { judgeBlock, problemName } from "../src/core/check-ownership.ts";
import type { CompiledPool } from "../src/core/policy.ts";
import type { BlockAudit } from "../src/rpc/block.ts";
import type { DirectoryEntry } from "../src/rpc/pool.ts";
import { type CheckFacts, HOSTS_PER_BLOCK } from "./check-facts.ts";
import { CheckIndex } from "./check-index.ts";
import { CheckLeaks } from "./check-leaks.ts";
import { type CheckPlace, found, lookAt, type StepResult, type Task } from "./check-task.ts";
import { poolTarget } from "./host-context.ts";

/** How long a difference must stay as it is, ms: longer than any step between two objects takes. */
export const SETTLE_MS = 10_000;
/** Parts of one step; together they keep it under 300 calls. */
const POOLS_PER_STEP = 128;
const SPACE_ROWS_PER_STEP = 1_000;
const BLOCKS_PER_STEP = 16;
const HOLDERS_PER_STEP = 128;
const HOSTS_PER_STEP = 16;
const HOST_ROWS_PER_STEP = 4_096;

type PoolPlace = Extract<CheckPlace, { phase: "count" | "space" | "blocks" }>;
type HostPlace = Extract<CheckPlace, { phase: "hosts" }>;

/** Where a check begins. */
export const FIRST_PLACE: CheckPlace = { phase: "count" };

const NEXT_PHASE: Record<PoolPlace["phase"], CheckPlace> = {
  count: { phase: "space" },
  space: { phase: "blocks" },
  blocks: { phase: "hosts" },
};

export class CheckScan {
  readonly #facts: CheckFacts;
  readonly #request: CheckRequest;
  readonly #index: CheckIndex;
  readonly leaks: CheckLeaks;

  constructor(facts: CheckFacts, request: CheckRequest) {
    this.#facts = facts;
    this.#request = request;
    this.leaks = new CheckLeaks(facts, request);
    this.#index = new CheckIndex(facts, request, (host) => this.#blocksOf(host));
  }

  /** Looks at the part of the check that begins at a place. */
  async step(place: CheckPlace): Promise<StepResult> {
    switch (place.phase) {
      case "count":
      case "space":
      case "blocks":
        return await this.#pools(place);
      case "hosts":
        return await this.#hosts(place);
      case "index":
        return await this.#index.step(place);
      case "leaks":
        return await this.leaks.step(place);
      case "over":
        return { findings: [], tasks: [] };
    }
  }

  /** The keys of one block against the index. */
  async keysOf(block: string): Promise<Pick<StepResult, "findings" | "tasks">> {
    return await this.#index.keys([{ block, word: await this.#facts.word(block) }]);
  }

  get #ports() {
    return this.#facts.runtime.ports;
  }

  get #calls() {
    return this.#facts.calls;
  }

  async #pools(place: PoolPlace): Promise<StepResult> {
    const { pool: wanted, host } = this.#request;
    const pools = this.#facts.policy.pools.filter(({ definition: { name } }) => {
      return (wanted === undefined || name === wanted) && (place.pool === undefined || name >= place.pool);
    });
    const [pool] = pools;
    // The free space belongs to no host; what a host has is counted as it is looked at.
    const isPassedOver = host !== undefined && place.phase !== "blocks";
    if (pool === undefined || isPassedOver) {
      return { place: NEXT_PHASE[place.phase], findings: [], tasks: [] };
    }
    if (place.phase === "count") return await this.#count(pools);
    const isSame = pool.definition.name === place.pool;
    const after = isSame && place.after !== undefined ? { after: place.after } : {};
    const { next, ...result } =
      place.phase === "space" ? await this.#space(pool, after) : await this.#blocks(pool, after);
    const { name } = pool.definition;
    const goOn: CheckPlace =
      next === undefined
        ? this.#afterPool(place.phase, pools[1])
        : { phase: place.phase, pool: name, after: next };
    return { place: goOn, ...result };
  }

  #afterPool(phase: PoolPlace["phase"], next: CompiledPool | undefined): CheckPlace {
    return next === undefined ? NEXT_PHASE[phase] : { phase, pool: next.definition.name };
  }

  async #count(pools: readonly CompiledPool[]): Promise<StepResult> {
    const counts = await this.#calls.each(pools.slice(0, POOLS_PER_STEP), async (pool) => {
      const target = poolTarget(pool);
      const port = () => this.#ports.pool(target.pool, target.incarnation);
      return (await this.#calls.must(() => port().countIssued(target))).count;
    });
    const total = counts.reduce((sum, count) => sum + count, 0);
    return { place: this.#afterPool("count", pools[POOLS_PER_STEP]), total, findings: [], tasks: [] };
  }

  async #space(
    pool: CompiledPool,
    after: { readonly after?: string },
  ): Promise<StepResult & { readonly next?: string }> {
    const target = poolTarget(pool);
    const question = { ...target, ...after, limit: SPACE_ROWS_PER_STEP, repair: false };
    const said = await this.#calls.must(() =>
      this.#ports.pool(target.pool, target.incarnation).auditSpace(question),
    );
    const findings = said.faults.map((fault) => found(fault));
    const next = said.next === undefined ? {} : { next: said.next };
    if (!this.#request.repair || findings.length === 0) return { ...next, findings, tasks: [] };
    const names = findings.map(({ name }) => name);
    const task = { kind: "space", findings: names, pool: target.pool, ...after } as const;
    return { ...next, findings, tasks: [{ name: `space ${target.pool} ${after.after}`, dueInMs: 0, task }] };
  }

  async #blocks(
    pool: CompiledPool,
    after: { readonly after?: string },
  ): Promise<StepResult & { readonly next?: string }> {
    const { host: owner } = this.#request;
    const target = poolTarget(pool);
    const page = { ...target, ...after, limit: BLOCKS_PER_STEP };
    const port = () => this.#ports.pool(target.pool, target.incarnation);
    const { entries, next } = await this.#calls.must(() =>
      owner === undefined ? port().issued(page) : port().list({ ...page, owner }),
    );
    const words = await this.#calls.each(entries, ({ block }) => this.#facts.word(block));
    const suspects = await this.#ownership(entries, words);
    const unlisted = await this.#unlistedHosts(entries, words);
    const keys = await this.#index.keys(entries.map(({ block }, index) => ({ block, word: words[index] })));
    return {
      ...(next === undefined ? {} : { next }),
      checked: entries.length,
      ...(owner === undefined ? {} : { total: entries.length }),
      findings: [...unlisted.findings, ...keys.findings],
      tasks: [...suspects, ...unlisted.tasks, ...keys.tasks],
    };
  }

  /** Hosts that blocks name and Cluster does not. Why at once: a host is listed before its first row. */
  async #unlistedHosts(
    entries: readonly DirectoryEntry[],
    words: readonly (BlockAudit | undefined)[],
  ): Promise<Pick<StepResult, "findings" | "tasks">> {
    const named = words.flatMap((word) => [word?.owner, ...(word?.holders ?? [])]);
    const hosts = new Set([...entries.map(({ owner }) => owner), ...named]);
    hosts.delete(undefined);
    if (hosts.size === 0) return { findings: [], tasks: [] };
    const asked = [...hosts].filter((host) => host !== undefined);
    const said = await this.#calls.must(() => this.#ports.cluster().unlistedHosts({ hosts: asked }));
    const findings = said.hosts.map((host) => found({ problem: "host_not_listed", host }));
    if (!this.#request.repair) return { findings, tasks: [] };
    const tasks = findings.map(({ name, finding: { host = "" } }) => {
      const task = { kind: "enrol", host, finding: name } as const;
      return { name: `enrol ${host}`, dueInMs: 0, task };
    });
    return { findings, tasks };
  }

  /** Blocks of which something differs; it may be a step under way, so they are looked at again. */
  async #ownership(
    entries: readonly DirectoryEntry[],
    words: readonly (BlockAudit | undefined)[],
  ): Promise<Task[]> {
    const asked = new Map<string, Set<string>>();
    const ask = (host: string | undefined, block: string): void => {
      if (host === undefined) return;
      const blocks = asked.get(host);
      if (blocks !== undefined) blocks.add(block);
      else asked.set(host, new Set([block]));
    };
    for (const [index, { block, owner }] of entries.entries()) {
      ask(owner, block);
      ask(words[index]?.owner, block);
    }
    for (const [index, { block }] of entries.entries()) {
      for (const holder of words[index]?.holders ?? []) {
        if (asked.has(holder) || asked.size < HOLDERS_PER_STEP) ask(holder, block);
      }
    }
    const ofHost = await this.#facts.hosts(asked);
    return entries.flatMap((entry, index) => {
      const { block } = entry;
      const names = [...asked].filter(([, blocks]) => blocks.has(block)).map(([host]) => host);
      const hosts = new Map(names.map((host) => [host, ofHost(host, block)] as const));
      const problems = judgeBlock(this.#facts.facts(block, entry, words[index], hosts));
      if (problems.length === 0) return [];
      const marks = Object.fromEntries(problems.map((problem) => [problemName(problem), problem.mark]));
      const suspected = problems.flatMap(({ host }) => host ?? []).slice(0, HOSTS_PER_BLOCK);
      const task = { kind: "block", block, hosts: suspected, marks, looks: 0 } as const;
      return [{ name: `block ${block}`, dueInMs: SETTLE_MS, task }];
    });
  }

  /** Rows of Hosts whose block the directory does not give them: the other rows were looked at with it. */
  async #hosts(place: HostPlace): Promise<StepResult> {
    const { host: wanted } = this.#request;
    const after = place.after === undefined ? {} : { after: place.after };
    const page: { readonly hosts: readonly { readonly host: string }[]; readonly next?: string } =
      wanted === undefined
        ? await this.#calls.must(() => this.#ports.cluster().listHosts({ ...after, limit: HOSTS_PER_STEP }))
        : { hosts: [{ host: wanted }] };
    const rows: { host: string; block: string }[] = [];
    const silent: Task[] = [];
    for (const { host } of page.hosts) {
      const begin = host === place.host ? (place.block ?? "") : "";
      const all = await this.#blocksOf(host);
      if (all === undefined) silent.push(askAgain(host));
      const blocks = (all ?? []).filter((block) => block > begin);
      const fit = blocks.slice(0, HOST_ROWS_PER_STEP - rows.length);
      rows.push(...fit.map((block) => ({ host, block })));
      if (fit.length < blocks.length) {
        const tasks = [...silent, ...(await this.#unlisted(rows))];
        return { place: { ...after, phase: "hosts", host, block: fit.at(-1) ?? begin }, findings: [], tasks };
      }
    }
    const tasks = [...silent, ...(await this.#unlisted(rows))];
    const next: CheckPlace =
      page.next === undefined ? { phase: "index", shard: 0 } : { phase: "hosts", after: page.next };
    return { place: next, findings: [], tasks };
  }

  /** What a Host that did not answer has by now; absent: it still does not. */
  async hostAgain(host: string): Promise<readonly Task[] | undefined> {
    const blocks = await this.#blocksOf(host);
    return blocks && (await this.#unlisted(blocks.map((block) => ({ host, block }))));
  }

  /** Blocks of which a Host has a row, as far as the check goes, in the order of their text. */
  async #blocksOf(host: string): Promise<string[] | undefined> {
    const said = await this.#calls.maybe(() => this.#ports.host(host).affinities({ host }));
    if (said === undefined) return undefined;
    const blocks = new Set([...said.rows.map(({ block }) => block), ...said.borrowed]);
    const { pool } = this.#request;
    const isMeant = (block: string): boolean => {
      return pool === undefined || this.#facts.poolOf(block)?.definition.name === pool;
    };
    return [...blocks].filter(isMeant).toSorted();
  }

  async #unlisted(rows: readonly { readonly host: string; readonly block: string }[]): Promise<Task[]> {
    const entries = await this.#facts.entries(rows.map(({ block }) => block));
    const byHost = Map.groupBy(rows, ({ host }) => host);
    const asked = new Map(
      [...byHost].map(([host, ofHost]) => [host, new Set(ofHost.map((row) => row.block))]),
    );
    const ofHost = await this.#facts.hosts(asked);
    return rows.flatMap(({ host, block }) => {
      const entry = entries.get(block);
      const isKnown = entry !== undefined && entry.state !== "free";
      const row = ofHost(host, block)?.row;
      const isListed = isKnown && (row === undefined || entry.owner === host);
      return isListed ? [] : [lookAt(block, [host])];
    });
  }
}

function askAgain(host: string): Task {
  return { name: `host ${host}`, dueInMs: SETTLE_MS, task: { kind: "host", host, looks: 0 } };
}
