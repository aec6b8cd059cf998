/**
 * Handles of one index shard on their way out together: one look-up, one message to each block, one settlement.
 * May import: core, rpc, platform, http. Rule: a slow or failing block keeps only what is in it.
 */
import { shardOf } from "../../core/ids.ts";
import { invariant } from "../../core/invariant.ts";
import { classify } from "../../platform/failure.ts";
import type { ReleaseHandleAnswer, ReleaseHandleRequest } from "../../rpc/block.ts";
import type { KeyRow, SettleItem } from "../../rpc/handle-index.ts";
import { type GatheredWay, sendAllGathered } from "../gathering.ts";
import { sendAll } from "../messages.ts";
import type { Call } from "../operation.ts";
import { takeForRiders } from "./release-budget.ts";
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

/** Blocks of one handle that others are kept waiting for; one that is in more asks by itself. */
const BLOCKS_OF_ONE_MAX = 16;
/** Calls that a handle in one block takes at most: to ask it, and to settle what it said. */
const CALLS_PER_PART = 2;

/** What became of a handle; `by_itself`: nothing, it is too much for this event, or was not looked up. */
export type Ride = Round | "by_itself";

/**
 * Releases handles together. Shape: each as soon as its own blocks have answered.
 * Rejects: what the look-up failed with, where nobody may try it again; nothing was done then.
 */
export async function releaseMany(many: readonly Wanted[], call: Call): Promise<(Ride | Promise<Ride>)[]> {
  const lists = takeForRiders(1, call) ? await listsOf(many, call) : undefined;
  const blocksOf = lists?.map(rowsByBlock);
  // Whoever gathers comes first, and needs its own calls where it is in many blocks.
  if (blocksOf === undefined || !isFew(blocksOf[0])) return many.map(() => "by_itself");
  const parts = many.map((wanted, place): Pending[] | undefined => {
    const blocks = blocksOf[place];
    const fits = isFew(blocks) && takeForRiders(CALLS_PER_PART * blocks.length, call);
    return fits ? blocks.map((rows) => ({ wanted, rows, done: Promise.withResolvers() })) : undefined;
  });
  // All at once: one that hangs must not keep the place of another.
  const byBlock = Map.groupBy(
    parts.flatMap((ofOne) => ofOne ?? []),
    ({ rows }) => rows[0]?.block ?? "",
  );
  for (const [block, ofBlock] of byBlock) void releaseIn(block, ofBlock, call);
  return parts.map((ofOne) => (ofOne === undefined ? "by_itself" : roundOf(ofOne)));
}

function isFew(blocks: readonly KeyRow[][] | undefined): blocks is KeyRow[][] {
  return blocks !== undefined && blocks.length <= BLOCKS_OF_ONE_MAX;
}

/** Where each handle may be; undefined: one of them may have failed them all, each asks for itself. */
async function listsOf(
  many: readonly Wanted[],
  call: Call,
): Promise<readonly (readonly KeyRow[])[] | undefined> {
  const [first] = many;
  invariant(first !== undefined, "a message is not empty");
  try {
    const handles = many.map(({ handle }) => handle);
    const { lists } = await call.ports.handleIndex(first.handle).listMany({ handles });
    // What is not listed is no proof that nothing is held.
    return lists.length === many.length ? lists : undefined;
  } catch (failure) {
    if (many.length === 1 || classify(failure) === "overloaded") throw failure;
    return undefined;
  }
}

async function roundOf(parts: readonly Pending[]): Promise<Round> {
  const rounds = await Promise.all(parts.map(({ done }) => done.promise));
  return {
    judged: rounds.flatMap(({ judged }) => judged),
    isSettled: rounds.every(({ isSettled }) => isSettled),
  };
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
