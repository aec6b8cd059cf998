/**
 * Release by address: one call per block that is known here, each address judged by its block alone.
 * May import: core, rpc and http. An unguarded release is sent once and never repeated.
 */
import { type Address, parseAddress } from "../../core/address.ts";
import { blockOf, formatCidr, parseCidr } from "../../core/cidr.ts";
import { type Rejection, rejection } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import type { AddressRelease, AddressReleaseOutcome } from "../../rpc/block.ts";
import type { Principal } from "../auth.ts";
import { mapBounded } from "../concurrency.ts";
import { isKnownBlock, noteKnownBlock } from "../known-blocks.ts";
import type { Call } from "../operation.ts";
import { poolOfBlock, releasePolicyOf, targetOf } from "../reading/policy.ts";

type Item = Pick<AddressRelease, "address" | "handle" | "sequenceNumber">;

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

/** Releases addresses; the outcomes stand in the order of the items. */
export async function releaseAddresses(
  call: Call,
  policy: CompiledPolicy,
  items: readonly Item[],
  force: boolean,
): Promise<AddressReleaseOutcome[]> {
  const outcomes = new Array<AddressReleaseOutcome>(items.length);
  const byBlock = new Map<string, number[]>();
  // Addresses released together are free for equally long: they queue by address, not as they were written.
  const inOrder = [...items.entries()].toSorted(([, one], [, other]) => byValue(one.address, other.address));
  for (const [index, { address }] of inOrder) {
    const block = blockOfText(policy, address);
    if (block === undefined) outcomes[index] = { kind: "not_in_any_block", address };
    else byBlock.set(block, [...(byBlock.get(block) ?? []), index]);
  }
  const { host } = call.principal;
  await mapBounded([...byBlock], async ([block, indexes]) => {
    if (!(await exists(call, policy, block))) {
      // Nothing was ever given out there.
      for (const index of indexes) {
        outcomes[index] = { kind: "already_free", address: (items[index] as Item).address };
      }
      return;
    }
    const answer = await call.ports.block(block).releaseAddresses({
      block,
      ...releasePolicyOf(policy, block),
      items: indexes.map((index) => ({
        ...(items[index] as Item),
        ...(force ? { force } : {}),
        ...(host === undefined ? {} : { onlyHost: host }),
      })),
    });
    for (const [at, index] of indexes.entries()) {
      const outcome = answer.outcomes[at];
      invariant(outcome !== undefined, "a block answers each address");
      outcomes[index] = outcome;
    }
  });
  return outcomes;
}

/** Tells whether a block ever was: one look into its Pool's directory, once per isolate. */
async function exists(call: Call, policy: CompiledPolicy, block: string): Promise<boolean> {
  if (isKnownBlock(call.ports, block)) return true;
  const cidr = parseCidr(block);
  invariant(cidr.ok, "a block's own text is a range");
  const pool = poolOfBlock(policy, cidr.value);
  if (pool === undefined) return false;
  const target = targetOf(pool);
  const { entry } = await call.ports.pool(target.pool, target.incarnation).find({ ...target, block });
  if (entry === undefined) return false;
  noteKnownBlock(call.ports, block);
  return true;
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
