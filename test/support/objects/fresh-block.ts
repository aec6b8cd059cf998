/**
 * A block that no other test of a file knows, and short ways to ask it.
 * May import: the deployment of the objects' tests. Rule: nothing is expected here.
 */
import type { AllocateItem, AllocateOutcome } from "../../../src/rpc/block.ts";
import { now, SETTINGS, stubs } from "./deployment.ts";

let nextBlock = 0;

/** A block that no other test knows, and short ways to ask it. */
export function freshBlock(prefix = 29, cooldownMs = 0) {
  const block = `10.9.${nextBlock}.0/${prefix}`;
  nextBlock += 1;
  const stub = stubs.block(block);
  const target = { block, pool: "p", incarnation: 0, poolCidr: "10.9.0.0/16" };
  const policy = { reserved: [] as [number, number][], cooldownMs };
  const until = () => now() + SETTINGS.untilMs;
  const item = (handle: string, given: Partial<AllocateItem> = {}): AllocateItem => ({
    handle,
    key: `key-of-${handle}`,
    host: "a",
    use: "Workload",
    attributes: {},
    leakCollection: "auto",
    count: 1,
    strict: false,
    policy,
    until: until(),
    ...given,
  });
  const allocateAll = async (items: readonly AllocateItem[]): Promise<readonly AllocateOutcome[]> =>
    (await stub.allocate({ ...target, items })).outcomes;
  const allocate = async (handle: string, given: Partial<AllocateItem> = {}): Promise<AllocateOutcome> => {
    const [outcome] = await allocateAll([item(handle, given)]);
    if (outcome === undefined) throw new Error("an element was left unanswered");
    return outcome;
  };
  const created = async (handle: string, given: Partial<AllocateItem> = {}) => {
    const outcome = await allocate(handle, given);
    if (outcome.kind !== "created" || outcome.records[0] === undefined)
      throw new Error(JSON.stringify(outcome));
    return outcome.records[0];
  };
  const claim = (owner: string, epoch: number, incarnation = 0) =>
    stub.claim({ ...target, incarnation, owner, epoch, until: until(), cooldownMs });
  const releaseAffinity = (owner: string, epoch: number, mustBeEmpty = true) =>
    stub.releaseAffinity({ ...target, owner, epoch, mustBeEmpty, cooldownMs });
  const releaseAddress = async (address: string, guard: { handle?: string; sequenceNumber?: number }) =>
    (await stub.releaseAddresses({ block, cooldownMs, items: [{ address, ...guard }] })).outcomes[0];
  const releaseHandle = async (handle: string) =>
    (
      await stub.releaseHandle({
        block,
        handle,
        keys: [{ key: `key-of-${handle}`, finalAfter: now() }],
        cooldownMs,
      })
    ).keys[0];
  const releaseLeaked = async (...items: { address: string; handle: string; touch: number }[]) =>
    (await stub.releaseLeaked({ block, cooldownMs, items, until: until() })).answers;
  const describeBlock = () => stub.describe({ block, policy, records: "all", map: true });
  return {
    block,
    stub,
    target,
    item,
    allocate,
    allocateAll,
    created,
    claim,
    releaseAffinity,
    releaseAddress,
    releaseHandle,
    releaseLeaked,
    describeBlock,
  };
}
