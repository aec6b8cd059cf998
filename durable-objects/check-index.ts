/**
 * The handle index in a check: held keys that it does not list, listed keys that are not held.
 * May import: core, rpc, platform. Rule: a "no" counts only as the block's final word.
 */
import type { CheckRequest } from "../src/core/check.ts";
import { heldThroughout, judgeHeldKey, type ListedKey, outcomeOf } from "../src/core/check-keys.ts";
import { parseCidr } from "../src/core/cidr.ts";
import { shardOf } from "../src/core/ids.ts";
import type { BlockAudit, HeldKey } from "../src/rpc/block.ts";
import type { KeyRow } from "../src/rpc/handle-index.ts";
import { type CheckFacts, chunksOf } from "./check-facts.ts";
import { type CheckPlace, type Found, found, lookAt, type StepResult, type Task } from "./check-task.ts";

/** Rows of one step: each may be another block's. */
const INDEX_ROWS_PER_STEP = 200;
/** Passes of a shard over its old rows, after which one that names nothing should have gone. */
const PASSES_MAX = 2;
/** Keys of one question to a shard. */
const KEYS_PER_CALL = 1_000;

type IndexPlace = Extract<CheckPlace, { phase: "index" }>;
type Looked = Pick<StepResult, "findings" | "tasks">;

/** A key that a block holds, and how its shard lists it. */
interface SuspectKey extends HeldKey {
  readonly block: string;
  readonly shard: number;
  readonly listed: ListedKey;
}

export class CheckIndex {
  readonly #facts: CheckFacts;
  readonly #request: CheckRequest;
  readonly #blocksOfHost: (host: string) => Promise<readonly string[] | undefined>;

  constructor(
    facts: CheckFacts,
    request: CheckRequest,
    blocksOfHost: (host: string) => Promise<readonly string[] | undefined>,
  ) {
    this.#facts = facts;
    this.#request = request;
    this.#blocksOfHost = blocksOfHost;
  }

  /** Held keys that the index does not list as it should. The blocks are asked once more: see judgeHeldKey. */
  async keys(
    blocks: readonly { readonly block: string; readonly word: BlockAudit | undefined }[],
  ): Promise<Looked> {
    const { indexShards } = this.#facts.runtime.settings;
    const held = blocks.flatMap(({ block, word }) => (word?.keys ?? []).map((key) => ({ ...key, block })));
    const byShard = Map.groupBy(held, ({ handle }) => shardOf(handle, indexShards));
    const questions = [...byShard].flatMap(([shard, keys]) =>
      chunksOf(keys, KEYS_PER_CALL).map((chunk) => ({ shard, keys: chunk })),
    );
    const answers = await this.#calls.each(questions, async ({ shard, keys }) => {
      const places = keys.map(({ handle, key, block }) => ({ handle, key, block }));
      const said = await this.#calls.must(() => this.#ports.handleIndexShard(shard).listed({ keys: places }));
      return keys.flatMap((key, index) => {
        const listed = said.keys[index] ?? { state: "missing" as const, count: 0 };
        return judgeHeldKey(key, listed) === undefined ? [] : [{ ...key, shard, listed }];
      });
    });
    const suspects = Map.groupBy(answers.flat(), ({ block }) => block);
    const again = await this.#calls.each([...suspects], async ([block, keys]) => {
      const word = await this.#facts.word(block);
      const still = new Map(heldThroughout(keys, word?.keys ?? []).map((key) => [keyName(key), key]));
      return keys.flatMap((suspect) => {
        const key = still.get(keyName(suspect));
        return key === undefined ? [] : [{ ...suspect, count: key.count }];
      });
    });
    const wrong = again.flat().map((key) => this.#wrongKey(key));
    return {
      findings: wrong.flatMap(({ finding }) => finding ?? []),
      tasks: wrong.flatMap(({ task }) => task ?? []),
    };
  }

  #wrongKey(suspect: SuspectKey): { readonly finding?: Found; readonly task?: Task } {
    const { block, handle, key, shard, count, listed } = suspect;
    const problem = judgeHeldKey(suspect, listed);
    if (problem === undefined) return {};
    const finding = found({ problem, block, handle }, key);
    if (!this.#request.repair) return { finding };
    const family = block.includes(":") ? 6 : 4;
    const task = { kind: "key", finding: finding.name, block, handle, key, shard, family, count } as const;
    return { finding, task: { name: `key ${handle} ${key} ${block}`, dueInMs: 0, task } };
  }

  /** Looks at the rows after a place: what their blocks finally do not hold. */
  async step(place: IndexPlace): Promise<StepResult> {
    const { runtime } = this.#facts;
    const { shard, after } = place;
    if (shard >= runtime.settings.indexShards) return { place: { phase: "leaks" }, findings: [], tasks: [] };
    const question = { ...(after === undefined ? {} : { after }), limit: INDEX_ROWS_PER_STEP };
    const page = await this.#calls.must(() => this.#ports.handleIndexShard(shard).page(question));
    const meant = await this.#meant(page.rows.filter(({ state }) => state === "reserved"));
    const judged = await this.#calls.each([...Map.groupBy(meant, ({ block }) => block)], ([block, rows]) =>
      this.#rowsOfBlock(shard, block, rows),
    );
    const held = judged.filter(({ isHeld }) => isHeld).map(({ block }) => block);
    const entries = await this.#facts.entries(held);
    const unlisted = held.filter((block) => (entries.get(block)?.state ?? "free") === "free");
    const next: CheckPlace =
      page.next === undefined
        ? { phase: "index", shard: shard + 1 }
        : { phase: "index", shard, after: page.next };
    return {
      place: next,
      findings: judged.flatMap(({ findings }) => findings),
      tasks: [...judged.flatMap(({ tasks }) => tasks), ...unlisted.map((block) => lookAt(block, []))],
    };
  }

  /** Rows whose block the check is about. */
  async #meant(rows: readonly KeyRow[]): Promise<readonly KeyRow[]> {
    const { pool, host } = this.#request;
    if (host !== undefined) {
      const blocks = new Set((await this.#blocksOfHost(host)) ?? []);
      return rows.filter(({ block }) => blocks.has(block));
    }
    if (pool === undefined) return rows;
    return rows.filter(({ block }) => this.#facts.poolOf(block)?.definition.name === pool);
  }

  /** What a block says finally of the keys that are listed there. */
  async #rowsOfBlock(shard: number, block: string, rows: readonly KeyRow[]) {
    const keys = rows.map(({ handle, key, until }) => ({ handle, key, finalAfter: until }));
    const isBlock = parseCidr(block).ok;
    const said = isBlock
      ? await this.#calls.maybe(() => this.#ports.block(block).holds({ block, keys }))
      : undefined;
    const findings: Found[] = [];
    const tasks: Task[] = [];
    for (const [index, { handle, key, until }] of rows.entries()) {
      const outcome = isBlock ? outcomeOf(said?.held[index]) : "absent";
      if (outcome === undefined) continue;
      const finding = this.#isOverdue(until)
        ? found({ problem: "key_not_held", block, handle }, key)
        : undefined;
      if (finding !== undefined) findings.push(finding);
      if (!this.#request.repair) continue;
      const told = finding === undefined ? {} : { finding: finding.name };
      const task = { kind: "row", ...told, shard, handle, key, block, until, outcome } as const;
      tasks.push({ name: `row ${handle} ${key} ${block}`, dueInMs: 0, task });
    }
    const isHeld = said?.held.includes("held") === true;
    // A block that does not answer is asked again, and told of if it goes on not to.
    const silent = isBlock && said === undefined ? [lookAt(block, [])] : [];
    return { block, isHeld, findings, tasks: [...tasks, ...silent] };
  }

  /** Refusals and releases by address leave rows to the shard's own pass: only what it passed over is wrong. */
  #isOverdue(until: number): boolean {
    const { runtime } = this.#facts;
    if (this.#request.isUpkeep === true) return false;
    return runtime.now() - until > PASSES_MAX * runtime.settings.indexPassMs;
  }

  get #ports() {
    return this.#facts.runtime.ports;
  }

  get #calls() {
    return this.#facts.calls;
  }
}

function keyName({ handle, key }: HeldKey): string {
  return `${handle} ${key}`;
}
