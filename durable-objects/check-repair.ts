/**
 * One repair of who owns a block, asked of the object that owns the record.
 * May import: core, rpc, platform. Rule: every message may arrive twice, and is fenced where it arrives.
 */
import { type BlockFacts, highestEpoch, type OwnershipProblem } from "../src/core/check-ownership.ts";
import type { CheckFacts } from "./check-facts.ts";

/** Calls that a Host makes one after another while it settles a row. */
const HOST_STEPS = 4;

/** Asks for the repair of a problem; whether it helped is seen by looking again. */
export async function carryOut(
  facts: CheckFacts,
  block: string,
  { hosts, word }: BlockFacts,
  { repair, host = "" }: OwnershipProblem,
): Promise<void> {
  const { calls } = facts;
  const { ports } = facts.runtime;
  const target = facts.targetOf(block);
  // A row of a pool that has gone is settled by its Host alone.
  const { pool, incarnation } = target ?? { pool: "", incarnation: 0 };
  switch (repair) {
    case "directory": {
      if (target === undefined || word === undefined) return;
      const message = { ...target, block, seenEpoch: highestEpoch(hosts, word) };
      await calls.maybe(() => ports.pool(pool, incarnation).restore(message), 2);
      return;
    }
    case "host": {
      const message = { host, block, pool, incarnation };
      await calls.maybe(() => ports.host(host).settleBlock(message), HOST_STEPS);
      return;
    }
    case "give_back": {
      if (target === undefined) return;
      const question = { ...target, owner: host, block };
      const fresh = await calls.maybe(() => ports.pool(pool, incarnation).fresh(question));
      if (fresh?.kind !== "claim") return;
      const order = { host, block, pool, incarnation, epoch: fresh.epoch, mustBeEmpty: true };
      await calls.maybe(() => ports.host(host).releaseBlock({ ...order, forReclaim: false }), HOST_STEPS);
      return;
    }
    case "note":
      await calls.maybe(() => ports.host(host).noteBorrowed({ host, block, pool, incarnation }), 2);
      return;
    case undefined:
      return;
  }
}
