/**
 * How many addresses were allocated inside a reservation before it: counted by the blocks that it touches.
 * May import: core, rpc and http.
 */
import { parseAddress } from "../../core/address.ts";
import { overlaps } from "../../core/cidr.ts";
import type { CompiledPolicy, ReservationDefinition } from "../../core/policy.ts";
import { type RangeSet, rangeSetOf } from "../../core/range-set.ts";
import { mapBounded } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { blocksOf } from "./block-walk.ts";
import { blockPolicyOf, type LocatedBlock, storedCidr } from "./policy.ts";

/** Counts the allocated addresses inside a reservation. */
export async function countAllocatedInside(
  call: Call,
  policy: CompiledPolicy,
  reservation: ReservationDefinition,
): Promise<number> {
  const ranges = reservation.reservedCIDRs.map(storedCidr);
  const inside = {
    4: rangeSetOf(ranges.filter(({ family }) => family === 4)),
    6: rangeSetOf(ranges.filter(({ family }) => family === 6)),
  };
  const touched: LocatedBlock[] = [];
  for (const pool of policy.pools) {
    if (!ranges.some((range) => overlaps(range, pool.cidr))) continue;
    for await (const located of blocksOf(call, pool)) {
      if (!inside[located.block.family].intersectCidr(located.block).isEmpty) touched.push(located);
    }
  }
  const counts = await mapBounded(touched, async (located) => {
    const block = located.entry.block;
    const own = blockPolicyOf(policy, located.pool, located.block);
    const question = { block, policy: own, records: "all", bare: true } as const;
    const view = await call.ports.block(block).describe(question);
    const held = view.records.filter(({ state }) => state === "allocated");
    return held.filter(({ address }) => isInside(inside[located.block.family], address)).length;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

function isInside(ranges: RangeSet, text: string): boolean {
  const address = parseAddress(text);
  return address.ok && ranges.contains(address.value.value);
}
