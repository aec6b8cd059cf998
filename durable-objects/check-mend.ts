/**
 * The second look of a check, and its repairs: each by the object that owns the record, fenced there.
 * May import: core, rpc, platform. Rule: only what was found twice is told, and told before it is mended.
 */
import type { Finding } from "../src/core/check.ts";
import { judgeBlock, type OwnershipProblem, problemName } from "../src/core/check-ownership.ts";
import { type CheckFacts, HOSTS_PER_BLOCK } from "./check-facts.ts";
import { carryOut } from "./check-repair.ts";
import { type CheckScan, SETTLE_MS } from "./check-scan.ts";
import { type BlockTask, type CheckTask, findingName, type StepResult } from "./check-task.ts";
import { poolTarget } from "./host-context.ts";

/** Looks at a block that goes on changing, before it counts as busy rather than wrong. */
const LOOKS_MAX = 3;
/** Repairs of one block in one go: each may bring the next to light. */
const REPAIRS_MAX = 4;

type Key = Extract<CheckTask, { kind: "key" }>;
type Row = Extract<CheckTask, { kind: "row" }>;
type Space = Extract<CheckTask, { kind: "space" }>;

/** What became of tasks. */
export interface Mended {
  readonly findings: StepResult["findings"];
  /** New tasks, and those that are to be looked at again. */
  readonly tasks: StepResult["tasks"];
  /** Names of findings, and whether they are mended. */
  readonly repaired: readonly { readonly name: string; readonly isRepaired: boolean }[];
}

const NOTHING: Mended = { findings: [], tasks: [], repaired: [] };

export class CheckMend {
  readonly #facts: CheckFacts;
  readonly #scan: CheckScan;
  readonly #repair: boolean;

  constructor(facts: CheckFacts, scan: CheckScan, repair: boolean) {
    this.#facts = facts;
    this.#scan = scan;
    this.#repair = repair;
  }

  /** Works on tasks that are due. */
  async work(tasks: readonly CheckTask[]): Promise<Mended> {
    const blocks = tasks.filter((task) => task.kind === "block");
    const keys = tasks.filter((task) => task.kind === "key");
    const rows = tasks.filter((task) => task.kind === "row");
    const hosts = tasks.filter((task) => task.kind === "host" || task.kind === "leaks");
    const unlisted = tasks.filter((task) => task.kind === "enrol");
    const spaces = tasks.filter((task) => task.kind === "space");
    const done = [
      await this.#keys(keys),
      await this.#rows(rows),
      ...(await this.#facts.calls.each(spaces, (task) => this.#space(task))),
      ...(await this.#facts.calls.each(unlisted, (task) => this.#enrol(task))),
      ...(await this.#facts.calls.each(hosts, (task) => this.#host(task))),
      ...(await this.#facts.calls.each(blocks, (task) => this.#block(task))),
    ];
    return {
      findings: done.flatMap(({ findings }) => findings),
      tasks: done.flatMap((one) => one.tasks),
      repaired: done.flatMap(({ repaired }) => repaired),
    };
  }

  get #ports() {
    return this.#facts.runtime.ports;
  }

  async #keys(tasks: readonly Key[]): Promise<Mended> {
    return await this.#inIndex(
      tasks,
      async (shard, ofShard) => {
        const items = ofShard.map(({ handle, key, block, family, count }) => {
          return { handle, key, block, family, count };
        });
        await this.#facts.calls.must(() => this.#ports.handleIndexShard(shard).restore({ items }));
      },
      (state) => state === "reserved",
    );
  }

  async #rows(tasks: readonly Row[]): Promise<Mended> {
    return await this.#inIndex(
      tasks,
      async (shard, ofShard) => {
        const items = ofShard.map(({ handle, key, block, until, outcome }) => {
          return { handle, key, block, until, outcome };
        });
        await this.#facts.calls.must(() => this.#ports.handleIndexShard(shard).settle({ items }));
      },
      (state) => state !== "reserved",
    );
  }

  /** Mends rows shard by shard, and looks what they are afterwards. */
  async #inIndex<T extends Key | Row>(
    tasks: readonly T[],
    mend: (shard: number, tasks: readonly T[]) => Promise<void>,
    isRight: (state: "reserved" | "spent" | "missing" | undefined) => boolean,
  ): Promise<Mended> {
    const byShard = [...Map.groupBy(tasks, ({ shard }) => shard)];
    const repaired = await this.#facts.calls.each(byShard, async ([shard, ofShard]) => {
      await mend(shard, ofShard);
      const keys = ofShard.map(({ handle, key, block }) => ({ handle, key, block }));
      const said = await this.#facts.calls.must(() => this.#ports.handleIndexShard(shard).listed({ keys }));
      return ofShard.flatMap(({ finding }, index) => {
        return finding === undefined ? [] : { name: finding, isRepaired: isRight(said.keys[index]?.state) };
      });
    });
    return { ...NOTHING, repaired: repaired.flat() };
  }

  /** Mends a stretch of free space in its Pool; it is right when the same stretch shows no fault. */
  async #space({ pool: name, after, findings }: Space): Promise<Mended> {
    const pool = this.#facts.policy.pools.find(({ definition }) => definition.name === name);
    if (pool === undefined) return NOTHING;
    const target = poolTarget(pool);
    const stretch = { ...target, ...(after === undefined ? {} : { after }), limit: 1_000 };
    const port = () => this.#ports.pool(target.pool, target.incarnation);
    await this.#facts.calls.must(() => port().auditSpace({ ...stretch, repair: true }));
    const left = await this.#facts.calls.must(() => port().auditSpace({ ...stretch, repair: false }));
    const wrong = new Set(left.faults.map((fault) => findingName(fault)));
    return {
      ...NOTHING,
      repaired: findings.map((finding) => ({ name: finding, isRepaired: !wrong.has(finding) })),
    };
  }

  async #enrol({ host, finding }: Extract<CheckTask, { kind: "enrol" }>): Promise<Mended> {
    const said = await this.#facts.calls.maybe(() => this.#ports.host(host).enrolAgain({ host }), 2);
    return { ...NOTHING, repaired: [{ name: finding, isRepaired: said?.enrolled === true }] };
  }

  /** A Host that goes on not to answer is told of; the check goes on without its rows. */
  async #host({ kind, host, looks }: Extract<CheckTask, { kind: "host" | "leaks" }>): Promise<Mended> {
    const said =
      kind === "host"
        ? await this.#scan.hostAgain(host).then((tasks) => tasks && { tasks })
        : await this.#scan.leaks.again(host).then((findings) => findings && { findings });
    if (said !== undefined) return { ...NOTHING, ...said };
    if (looks >= LOOKS_MAX) {
      const finding = { problem: "host_no_answer", host } as const;
      const name = findingName(finding);
      const repaired = this.#repair ? [{ name, isRepaired: false }] : [];
      return { tasks: [], findings: [{ name, finding }], repaired };
    }
    const task = { kind, host, looks: looks + 1 } as const;
    return { ...NOTHING, tasks: [{ name: `${kind} ${host}`, dueInMs: SETTLE_MS, task }] };
  }

  async #block(task: BlockTask): Promise<Mended> {
    return task.mends === undefined ? await this.#judge(task) : await this.#mend(task, task.mends);
  }

  /** What rests on the same as before is a finding; what has changed is looked at once more. */
  async #judge(task: BlockTask): Promise<Mended> {
    const { block } = task;
    const problems = judgeBlock(await this.#facts.ofBlock(block, task.hosts));
    const isConfirmed = (one: OwnershipProblem): boolean => task.marks[problemName(one)] === one.mark;
    const confirmed = problems.filter(isConfirmed);
    const findings = confirmed.map((problem) => {
      const finding = findingOf(block, problem);
      return { name: findingName(finding), finding };
    });
    if (confirmed.length > 0 && this.#repair) {
      const mends = findings.map(({ name }) => name);
      const hosts = hostsOf(task, problems);
      return { ...NOTHING, findings, tasks: [later({ ...task, hosts, mends }, 0)] };
    }
    return {
      ...NOTHING,
      findings,
      tasks: this.#again(
        task,
        problems.filter((one) => !isConfirmed(one)),
      ),
    };
  }

  #again(task: BlockTask, problems: readonly OwnershipProblem[]): StepResult["tasks"] {
    if (problems.length === 0 || task.looks >= LOOKS_MAX) return [];
    const { kind, block } = task;
    const marks = Object.fromEntries(problems.map((problem) => [problemName(problem), problem.mark]));
    const hosts = hostsOf(task, problems);
    return [later({ kind, block, hosts, marks, looks: task.looks + 1 }, SETTLE_MS)];
  }

  /** Mends one thing after another: a directory that follows its block again may want its owner's word. */
  async #mend(task: BlockTask, mends: readonly string[]): Promise<Mended> {
    const { block } = task;
    let facts = await this.#facts.ofBlock(block, task.hosts);
    let problems = judgeBlock(facts);
    for (let round = 0; round < REPAIRS_MAX; round += 1) {
      const problem = problems.find(({ repair }) => repair !== undefined);
      if (problem === undefined) break;
      await carryOut(this.#facts, block, facts, problem);
      facts = await this.#facts.ofBlock(block, task.hosts);
      problems = judgeBlock(facts);
    }
    const wrong = new Set(problems.map((problem) => findingName(findingOf(block, problem))));
    const isNew = (problem: OwnershipProblem) => !mends.includes(findingName(findingOf(block, problem)));
    // Of a block that no directory listed the keys have not been looked at yet.
    const wasUnlisted = mends.some((name) => name.startsWith("block_not_listed "));
    const keys = wasUnlisted ? await this.#scan.keysOf(block) : NOTHING;
    return {
      findings: keys.findings,
      tasks: [...keys.tasks, ...this.#again(task, problems.filter(isNew))],
      repaired: mends.map((name) => ({ name, isRepaired: !wrong.has(name) })),
    };
  }
}

function hostsOf({ hosts }: BlockTask, problems: readonly OwnershipProblem[]): string[] {
  const named = problems.flatMap(({ host }) => host ?? []);
  return [...new Set([...hosts, ...named])].slice(0, HOSTS_PER_BLOCK);
}

function later(task: BlockTask, dueInMs: number): StepResult["tasks"][number] {
  return { name: `block ${task.block}`, dueInMs, task };
}

function findingOf(
  block: string,
  { problem, address, host, other }: Omit<OwnershipProblem, "mark" | "repair">,
): Finding {
  return {
    problem,
    block,
    ...(address === undefined ? {} : { address }),
    ...(host === undefined ? {} : { host }),
    ...(other === undefined ? {} : { other }),
  };
}
