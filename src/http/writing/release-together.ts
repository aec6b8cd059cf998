/**
 * Handles of one index shard on their way out together: one look-up, one message to each block, one settlement.
 * May import: core, rpc and http. Rule: a slow or failing block keeps only what is in it.
 */
import { shardOf } from "../../core/ids.ts";
import { invariant } from "../../core/invariant.ts";
import type { ReleaseHandleAnswer, ReleaseHandleRequest } from "../../rpc/block.ts";
import type { SettleItem } from "../../rpc/handle-index.ts";
import { mapBounded } from "../concurrency.ts";
import { type GatheredWay, sendAllGathered } from "../gathering.ts";
import { sendAll } from "../messages.ts";
import type { Call } from "../operation.ts";
import {
  type Judged,
  judgedBy,
  messageOf,
  type Part,
  type Round,
  rowsByBlock,
  settlementOf,
  type Wanted,
} from "./release-in-block.ts";

/** A part, and whoever waits for it. */
interface Pending extends Part {
  readonly done: PromiseWithResolvers<Round>;
}

interface Told {
  readonly part: Pending;
  readonly judged: Judged[];
  readonly items: SettleItem[];
}

/**
 * Releases handles together. Shape: each as soon as its own blocks have answered.
 * Rejects: what the look-up failed with; nothing was done then.
 */
export async function releaseMany(many: readonly Wanted[], call: Call): Promise<Promise<Round>[]> {
  const [first] = many;
  invariant(first !== undefined, "a message is not empty");
  const handles = many.map(({ handle }) => handle);
  const { lists } = await call.ports.handleIndex(first.handle).listMany({ handles });
  const parts = many.map((wanted, place) =>
    rowsByBlock(lists[place] ?? []).map((rows): Pending => ({ wanted, rows, done: Promise.withResolvers() })),
  );
  const byBlock = Map.groupBy(parts.flat(), ({ rows }) => rows[0]?.block ?? "");
  void mapBounded([...byBlock], ([block, ofBlock]) => releaseIn(block, ofBlock, call));
  return parts.map(async (ofOne) => {
    const rounds = await Promise.all(ofOne.map(({ done }) => done.promise));
    return {
      judged: rounds.flatMap(({ judged }) => judged),
      isSettled: rounds.every(({ isSettled }) => isSettled),
    };
  });
}

/** Releases in one block, and settles what it said; never rejects. */
async function releaseIn(block: string, parts: readonly Pending[], call: Call): Promise<void> {
  try {
    const told = await askBlock(block, parts, call);
    const [final, open] = [told.filter(isFinal), told.filter((one) => !isFinal(one))];
    for (const { part, judged } of open) part.done.resolve({ judged, isSettled: true });
    for (const [place, changed] of (await settle(final, call)).entries()) {
      const { part, judged, items } = final[place] as Told;
      if (changed.status === "rejected") part.done.reject(changed.reason);
      else part.done.resolve({ judged, isSettled: changed.value === items.length });
    }
  } catch (failure) {
    for (const { done } of parts) done.reject(failure);
  }
}

/** Whether there is anything that the index can take for the last word. */
function isFinal({ items }: Told): boolean {
  return items.length > 0;
}

/** What a block says of each part; one that it does not answer fails here and now. */
async function askBlock(block: string, parts: readonly Pending[], call: Call): Promise<Told[]> {
  const port = () => call.ports.block(block);
  const answers = sendAll<ReleaseHandleRequest, ReleaseHandleAnswer>(parts.map(messageOf), {
    alone: (one) => port().releaseHandle(one),
    together: async (items) => (await port().releaseHandles({ block, items })).answers,
    // Where the answer was lost, a repeat would not tell which addresses this request has freed.
    repeats: "after_defect",
  });
  const told = parts.map(async (part, place): Promise<Told[]> => {
    try {
      const answer = await answers[place];
      invariant(answer !== undefined, "each part has an answer");
      const judged = judgedBy(part, answer);
      return [{ part, judged, items: judged.flatMap(settlementOf) }];
    } catch (failure) {
      part.done.reject(failure);
      return [];
    }
  });
  return (await Promise.all(told)).flat();
}

/** Tells the index what a block said; several blocks go together. Shape: how many rows that changed of each. */
async function settle(told: readonly Told[], call: Call): Promise<PromiseSettledResult<number>[]> {
  const handle = told[0]?.part.wanted.handle;
  if (handle === undefined) return [];
  const index = () => call.ports.handleIndex(handle);
  const way: GatheredWay<readonly SettleItem[], number> = {
    to: `settle ${shardOf(handle, call.settings.indexShards)}`,
    alone: async (items) => (await index().settle({ items })).changed,
    together: async (lots) => (await index().settleMany({ lots })).changed,
    repeats: "always",
  };
  return await sendAllGathered(
    told.map(({ items }) => items),
    way,
    call,
  );
}
