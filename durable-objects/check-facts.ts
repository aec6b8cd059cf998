/**
 * What a check asks about blocks: the policy's pool, the directory's entry, the block's word, the Hosts'
 * rows. May import: core, rpc, platform. Rule: nothing is written by asking.
 */

import type { BlockFacts, HostFacts } from "../src/core/check-ownership.ts";
import { parseCidr } from "../src/core/cidr.ts";
import { type CompiledPolicy, type CompiledPool, compilePolicy, type Policy } from "../src/core/policy.ts";
import type { BlockAudit } from "../src/rpc/block.ts";
import type { AffinityRow } from "../src/rpc/host.ts";
import type { DirectoryEntry, PoolTarget } from "../src/rpc/pool.ts";
import type { CheckCalls } from "./check-calls.ts";
import { poolTarget } from "./host-context.ts";
import type { Runtime } from "./runtime.ts";

/** Hosts that one block is looked at again with. */
export const HOSTS_PER_BLOCK = 8;
/** Blocks of one question to a Pool. */
const ENTRIES_PER_CALL = 1_024;

/** The policy as it was read last: texts are read once per version. */
const compiled = new WeakMap<Runtime, CompiledPolicy>();

export class CheckFacts {
  readonly runtime: Runtime;
  readonly calls: CheckCalls;
  readonly policy: CompiledPolicy;

  constructor(runtime: Runtime, calls: CheckCalls, policy: Policy) {
    this.runtime = runtime;
    this.calls = calls;
    const known = compiled.get(runtime);
    this.policy = known?.version === policy.version ? known : compilePolicy(policy);
    compiled.set(runtime, this.policy);
  }

  get cooldownMs(): number {
    return this.policy.config.ipCooldownSeconds * 1000;
  }

  /** The pool that a block is one of. */
  poolOf(block: string): CompiledPool | undefined {
    const cidr = parseCidr(block);
    if (!cidr.ok) return undefined;
    const { family, base, prefix } = cidr.value;
    const pool = this.policy.poolOf({ family, value: base });
    return pool?.definition.blockSize === prefix ? pool : undefined;
  }

  targetOf(block: string): PoolTarget | undefined {
    const pool = this.poolOf(block);
    return pool && poolTarget(pool);
  }

  /** A block's own word; absent when it does not answer. */
  async word(block: string): Promise<BlockAudit | undefined> {
    const question = { block, cooldownMs: this.cooldownMs };
    return await this.calls.maybe(() => this.runtime.ports.block(block).audit(question));
  }

  /** Directory entries by block, of whatever pools. */
  async entries(blocks: readonly string[]): Promise<ReadonlyMap<string, DirectoryEntry>> {
    const byPool = Map.groupBy(blocks, (block) => this.poolOf(block));
    const questions = [...byPool].flatMap(([pool, ofPool]) => {
      if (pool === undefined) return [];
      const target = poolTarget(pool);
      return chunksOf(ofPool, ENTRIES_PER_CALL).map((asked) => ({ ...target, blocks: asked }));
    });
    const answers = await this.calls.each(questions, (question) => {
      const { pool, incarnation } = question;
      return this.calls.must(() => this.runtime.ports.pool(pool, incarnation).entries(question));
    });
    return new Map(answers.flatMap(({ entries }) => entries.map((entry) => [entry.block, entry] as const)));
  }

  /** What Hosts have of blocks, or that they do not answer: for each Host those of its blocks that are asked about. */
  async hosts(
    asked: ReadonlyMap<string, ReadonlySet<string>>,
  ): Promise<(host: string, block: string) => HostFacts | undefined> {
    const answers = await this.calls.each([...asked], async ([host, blocks]) => {
      const question = { host, blocks: [...blocks] };
      const said = await this.calls.maybe(() => this.runtime.ports.host(host).affinities(question));
      if (said === undefined) return [host, undefined] as const;
      const rows = new Map(said.rows.map((row) => [row.block, row]));
      return [host, { rows, borrowed: new Set(said.borrowed) }] as const;
    });
    const byHost = new Map(answers);
    return (host, block) => {
      const said = byHost.get(host);
      if (said === undefined) return undefined;
      const row: AffinityRow | undefined = said.rows.get(block);
      const hasBorrowed = said.borrowed.has(block);
      return row === undefined ? { hasBorrowed } : { row, hasBorrowed };
    };
  }

  /** Everything about one block, with the Hosts that it or its entry names. */
  async ofBlock(block: string, named: readonly string[]): Promise<BlockFacts> {
    const entry = (await this.entries([block])).get(block);
    const word = await this.word(block);
    const owners = [entry?.owner, word?.owner].filter((owner) => owner !== undefined);
    // Of a block that no directory lists nobody has looked at who holds something there.
    const isListed = entry !== undefined && entry.state !== "free";
    const holders = isListed ? [] : (word?.holders ?? []).slice(0, HOSTS_PER_BLOCK);
    const names = new Set([...named, ...owners, ...holders]);
    const ofHost = await this.hosts(new Map([...names].map((host) => [host, new Set([block])])));
    return this.facts(block, entry, word, new Map([...names].map((host) => [host, ofHost(host, block)])));
  }

  facts(
    block: string,
    entry: DirectoryEntry | undefined,
    word: BlockAudit | undefined,
    hosts: BlockFacts["hosts"],
  ): BlockFacts {
    const pool = this.poolOf(block)?.definition;
    return {
      ...(pool === undefined ? {} : { pool: { name: pool.name, incarnation: pool.incarnation } }),
      ...(entry === undefined ? {} : { entry }),
      ...(word === undefined ? {} : { word }),
      hosts,
    };
  }
}

export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let begin = 0; begin < items.length; begin += size) chunks.push(items.slice(begin, begin + size));
  return chunks;
}
