/**
 * Items on their way to one object in messages of several, and what becomes of each.
 * May import: platform, http. Rule: one that fails a message does not fail the others where that can be told.
 */
import { classify, type PlatformFailure } from "../platform/failure.ts";
import { mapBounded } from "./concurrency.ts";

/** Items of one message; attributes of each may take 32 KiB, a message 32 MiB. */
const MESSAGE_MAX = 128;

/** How one kind of item gets to one object. */
export interface Way<Item, Outcome> {
  alone(item: Item): Promise<Outcome>;
  /** The outcome of each, in their order; one that takes longer than others may be a promise. */
  together(items: readonly Item[]): Promise<readonly (Outcome | Promise<Outcome>)[]>;
  /**
   * Each goes again by itself when a message of several has failed as a whole: whatever it failed with, or
   * only where nothing of it was done. Absent: none does.
   */
  readonly repeats?: "always" | "after_defect";
}

/** An item, and whoever waits for its outcome. */
export interface Waiting {
  readonly item: unknown;
  /** Nobody waits for it any more. */
  isOver?: true;
  readonly settle: (outcome: unknown) => void;
  readonly fail: (failure: unknown) => void;
}

/** Makes items that can be waited for. Shape: their outcomes, in their order. */
export function waitingFor<Item, Outcome>(items: readonly Item[]) {
  const waiting: Waiting[] = [];
  const outcomes = items.map(
    (item) =>
      new Promise<Outcome>((settle, fail) => {
        waiting.push({ item, settle: settle as (outcome: unknown) => void, fail });
      }),
  );
  return { waiting, outcomes };
}

/** Sends items as messages at once. Shape: the outcome of each, in their order. */
export function sendAll<Item, Outcome>(items: readonly Item[], way: Way<Item, Outcome>): Promise<Outcome>[] {
  const { waiting, outcomes } = waitingFor<Item, Outcome>(items);
  void sendWaiting(waiting, way);
  return outcomes;
}

/** Sends what is waited for, in as many messages as it takes; never rejects. */
export async function sendWaiting<Item, Outcome>(
  all: readonly Waiting[],
  way: Way<Item, Outcome>,
): Promise<void> {
  const messages: Promise<void>[] = [];
  for (let from = 0; from < all.length; from += MESSAGE_MAX) {
    messages.push(send(all.slice(from, from + MESSAGE_MAX), way));
  }
  await Promise.all(messages);
}

async function send<Item, Outcome>(batch: readonly Waiting[], way: Way<Item, Outcome>): Promise<void> {
  let outcomes: readonly (Outcome | Promise<Outcome>)[];
  try {
    outcomes = await way.together(batch.map(({ item }) => item as Item));
  } catch (failure) {
    // One of them may have failed them all.
    const goAlone = batch.length > 1 && mayRepeat(way.repeats, classify(failure));
    if (goAlone) await mapBounded(batch, (one) => sendAlone(one, way));
    else for (const { fail } of batch) fail(failure);
    return;
  }
  const open: Promise<void>[] = [];
  for (const [index, { settle, fail }] of batch.entries()) {
    const outcome = outcomes[index];
    if (index >= outcomes.length) fail(new Error("an item of a message was left unanswered"));
    else if (outcome instanceof Promise) open.push(outcome.then(settle, fail));
    else settle(outcome);
  }
  await Promise.all(open);
}

/** A defect ends the transaction that it was met in: nothing of its message was done. */
function mayRepeat(repeats: "always" | "after_defect" | undefined, failure: PlatformFailure): boolean {
  if (repeats === "after_defect") return failure === "unknown";
  return repeats === "always" && failure !== "overloaded";
}

async function sendAlone<Item, Outcome>(
  { item, isOver, settle, fail }: Waiting,
  way: Pick<Way<Item, Outcome>, "alone">,
): Promise<void> {
  if (isOver === true) return;
  try {
    settle(await way.alone(item as Item));
  } catch (failure) {
    fail(failure);
  }
}
