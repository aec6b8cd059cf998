/**
 * Release by address: one call per block that is known here, each address judged by its block alone.
 * May import: core, rpc and http. An unguarded release is sent once and never repeated. What is in more blocks
 * than one event may ask is said to be not reached.
 */
import { type Address, parseAddress } from "../../core/address.ts";
import { blockOf, formatCidr } from "../../core/cidr.ts";
import { type Rejection, rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import type { CompiledPolicy, CompiledPool } from "../../core/policy.ts";
import type { AddressRelease, AddressReleaseOutcome } from "../../rpc/block.ts";
import type { Principal } from "../auth.ts";
import { CALLS_AT_ONCE, mapBounded } from "../concurrency.ts";
import { isKnownBlock, noteKnownBlock } from "../known-blocks.ts";
import type { Call } from "../operation.ts";
import type { ReleasedItem } from "../present/allocation.ts";
import { poolOfBlock, releasePolicyOf, storedCidr, targetOf } from "../reading/policy.ts";
import { type Hear, whileHeard } from "../waiting.ts";
import { giveBack, takeUpTo } from "./release-budget.ts";

type Item = Pick<AddressRelease, "address" | "handle" | "sequenceNumber">;

/** Blocks that one call to a Pool looks up. */
const LOOKED_UP_MAX = 512;

interface LookUp {
  readonly pool: CompiledPool;
  readonly blocks: readonly string[];
}

/** Checks that each address comes with a guard; only an administrator may force. */
export function checkGuards(
  items: readonly Item[],
  force: boolean,
  { role }: Principal,
): Rejection<"guard_required" | "role_insufficient"> | undefined {
  if (force) {
    return role === "admin" ? undefined : rejection("role_insufficient", { role, requiredRole: "admin" });
  }
  const unguarded = items.find((item) => item.handle === undefined && item.sequenceNumber === undefined);
  return unguarded === undefined ? undefined : rejection("guard_required", { address: unguarded.address });
}

/**
 * Releases addresses; the outcomes stand in the order of the items.
 * Rejects: an object that does not answer while no other one does.
 */
export async function releaseAddresses(
  call: Call,
  policy: CompiledPolicy,
  items: readonly Item[],
  force: boolean,
): Promise<ReleasedItem[]> {
  const outcomes = new Array<ReleasedItem>(items.length);
  const byBlock = new Map<string, number[]>();
  // Addresses released together are free for equally long: they queue by address, not as they were written.
  const inOrder = [...items.entries()].toSorted(([, one], [, other]) => byValue(one.address, other.address));
  for (const [index, { address }] of inOrder) {
    const block = blockOfText(policy, address);
    if (block === undefined) outcomes[index] = { kind: "not_in_any_block", address };
    else byBlock.set(block, [...(byBlock.get(block) ?? []), index]);
  }
  const wanted = (index: number): Item => items[index] as Item;
  await whileHeard(async (hear) => {
    const { reached, never } = await reach(call, policy, [...byBlock.keys()], hear);
    await mapBounded(reached, async (block) => {
      const indexes = byBlock.get(block) ?? [];
      const answers = await hear(() => releaseIn(call, policy, block, indexes.map(wanted), force));
      for (const [at, index] of indexes.entries()) {
        const outcome = answers[at];
        invariant(outcome !== undefined, "a block answers each address");
        outcomes[index] = outcome;
      }
    });
    for (const [block, indexes] of byBlock) {
      // Nothing was ever given out in a block that never was.
      const kind = never.has(block) ? "already_free" : "not_reached";
      for (const index of indexes) outcomes[index] ??= { kind, address: wanted(index).address };
    }
  }, call);
  return outcomes;
}

async function releaseIn(
  call: Call,
  policy: CompiledPolicy,
  block: string,
  items: readonly Item[],
  force: boolean,
): Promise<readonly AddressReleaseOutcome[]> {
  const { host } = call.principal;
  const answer = await call.ports.block(block).releaseAddresses({
    block,
    ...releasePolicyOf(policy, block),
    items: items.map((item) => ({
      ...item,
      ...(force ? { force } : {}),
      ...(host === undefined ? {} : { onlyHost: host }),
    })),
  });
  return answer.outcomes;
}

/**
 * Which blocks this event asks: those that this isolate knows, and those that a Pool's directory has, looked up
 * many at a time; as many as its calls allow. `never`: there is no such block.
 */
async function reach(
  call: Call,
  policy: CompiledPolicy,
  blocks: readonly string[],
  hear: Hear,
): Promise<{ readonly reached: readonly string[]; readonly never: ReadonlySet<string> }> {
  const known = blocks.filter((block) => isKnownBlock(call.ports, block));
  const reached = known.slice(0, takeUpTo(known.length, call));
  const others = Map.groupBy(
    blocks.filter((block) => !isKnownBlock(call.ports, block)),
    (block) => poolOfBlock(policy, storedCidr(block)),
  );
  const never = new Set(others.get(undefined));
  const lookUps = [...others].flatMap(([pool, ofPool]) => (pool === undefined ? [] : inLots(pool, ofPool)));
  const largest = Math.max(1, ...lookUps.map(({ blocks: some }) => some.length));
  // What a look-up gives back is there for the next ones.
  const atOnce = Math.max(1, Math.floor(CALLS_AT_ONCE / largest));
  const lookUp = async ({ pool, blocks: some }: LookUp) => {
    // The look-up, and a call to each block that it may find.
    const asked = some.slice(0, Math.max(0, takeUpTo(1 + some.length, call) - 1));
    if (asked.length === 0) return;
    const target = targetOf(pool);
    const port = call.ports.pool(target.pool, target.incarnation);
    const { entries } = await hear(() => port.entries({ ...target, blocks: asked }));
    const found = new Set(entries.map(({ block }) => block));
    for (const block of asked) {
      if (!found.has(block)) never.add(block);
      else {
        noteKnownBlock(call.ports, block);
        reached.push(block);
      }
    }
    giveBack(asked.length - found.size, call);
  };
  await mapBounded(lookUps, lookUp, atOnce);
  return { reached, never };
}

/** Blocks of a pool, so many as one look-up takes. */
function inLots(pool: CompiledPool, blocks: readonly string[]): LookUp[] {
  const lots = Array.from({ length: Math.ceil(blocks.length / LOOKED_UP_MAX) }, (_, n) => n * LOOKED_UP_MAX);
  return lots.map((begin) => ({ pool, blocks: blocks.slice(begin, begin + LOOKED_UP_MAX) }));
}

/** The block of an address, by the pool that holds it, enabled or not. */
function blockOfText(policy: CompiledPolicy, text: string): string | undefined {
  const address = addressOf(text);
  const pool = policy.poolOf(address);
  return pool === undefined ? undefined : formatCidr(blockOf(address, pool.definition.blockSize));
}

function addressOf(text: string): Address {
  const address = parseAddress(text);
  invariant(address.ok, "the schema has read this address");
  return address.value;
}

function byValue(one: string, other: string): number {
  const { value: first } = addressOf(one);
  const { value: second } = addressOf(other);
  return first < second ? -1 : Number(first > second);
}
