/**
 * Requests that reach one object together go as one message: one call, one turn of the object for all of them.
 * May import: core, rpc, platform, http. Rule: nobody waits for a message that somebody else sends without an end.
 */
import { type CallOutcome, callOnce, type EndSignal } from "../platform/call.ts";
import { classify, type PlatformFailure } from "../platform/failure.ts";
import type { Ports } from "../rpc/ports.ts";
import { mapBounded } from "./concurrency.ts";
import type { Call } from "./operation.ts";

/** Items of one message; attributes of each may take 32 KiB, a message 32 MiB. */
const MESSAGE_MAX = 128;
/** How long an object counts as busy after it was, ms: then the first of the next ones waits for the others, too. */
const BUSY_MS = 100;
/** Whoever gathers sends within a turn of the event loop; one that has not for so long was cut off, ms. */
const GATHERS_MS = 100;
/** Destinations remembered; beyond, idle ones are forgotten. */
const DESTINATIONS_MAX = 4_096;

/** How one kind of item gets to one object. */
export interface Way<Item, Outcome> {
  /** Names the object, and what is asked of it. */
  readonly to: string;
  alone(item: Item): Promise<Outcome>;
  /** The outcome of each, in their order. */
  together(items: readonly Item[]): Promise<readonly Outcome[]>;
  /**
   * Each goes again by itself when a message of several has failed: whatever it failed with, or only where
   * nothing of it was done. Absent: none does.
   */
  readonly repeats?: "always" | "after_defect";
}

type Outside = Pick<Call, "ports" | "settings" | "now" | "sleep" | "keep">;

interface Waiting {
  readonly item: unknown;
  /** Nobody waits for it any more. */
  isOver?: true;
  readonly settle: (outcome: unknown) => void;
  readonly fail: (failure: unknown) => void;
}

/** Since when one is under way. */
interface Traveller {
  readonly since: number;
}

/** What is under way to one object. */
interface Destination {
  /** In the order in which they began. */
  readonly underWay: Set<Traveller>;
  waiting: Waiting[];
  /** When more was under way than goes alone. */
  busyAt: number;
  /** Since when somebody gathers; absent: nobody does. */
  gathersSince?: number;
}

const destinationsOf = new WeakMap<Ports, Map<string, Destination>>();

/**
 * Sends an item: by itself while little is under way to its object, else with all that arrive in the same turn
 * of the event loop. Rejects: what the call failed with.
 */
export async function sendGathered<Item, Outcome>(
  item: Item,
  way: Way<Item, Outcome>,
  call: Outside,
): Promise<Outcome> {
  const destination = destinationOf(way.to, call.ports);
  const { underWay } = destination;
  const { aloneMax } = call.settings;
  const now = call.now();
  forgetCutOff(underWay, now, limitOf(call));
  const isQuiet = Math.abs(now - destination.busyAt) >= BUSY_MS;
  const isAlone = isQuiet && underWay.size < aloneMax;
  const traveller = { since: now };
  underWay.add(traveller);
  if (underWay.size > aloneMax) destination.busyAt = now;
  try {
    return isAlone ? await way.alone(item) : await goTogether(destination, item, way, call);
  } finally {
    underWay.delete(traveller);
  }
}

/** How long a message is waited for, ms: as long as whatever it asks for may still come about, and that again. */
function limitOf({ settings }: Outside): number {
  return 2 * (settings.untilMs + settings.skewMs);
}

/** Why: an event that is cut off, as its client goes, never says that it is over; it must not count for ever. */
function forgetCutOff(underWay: Set<Traveller>, now: number, limitMs: number): void {
  for (const traveller of underWay) {
    if (Math.abs(now - traveller.since) <= limitMs) break;
    underWay.delete(traveller);
  }
}

function destinationOf(to: string, ports: Ports): Destination {
  const destinations = destinationsOf.get(ports) ?? new Map<string, Destination>();
  destinationsOf.set(ports, destinations);
  const known = destinations.get(to);
  if (known !== undefined) return known;
  if (destinations.size >= DESTINATIONS_MAX) forgetIdle(destinations);
  const made = { underWay: new Set<Traveller>(), waiting: [], busyAt: Number.NEGATIVE_INFINITY };
  destinations.set(to, made);
  return made;
}

/** Whoever is under way keeps hold of its destination; another one of that name only gathers less. */
function forgetIdle(destinations: Map<string, Destination>): void {
  for (const [to, { underWay }] of destinations) if (underWay.size === 0) destinations.delete(to);
  if (destinations.size >= DESTINATIONS_MAX) destinations.clear();
}

/**
 * Waits for the next message to the object, and sends it if nobody else does.
 * Why: what another event began may never settle, when that event was cut off; nobody waits for it for ever.
 */
async function goTogether<Item, Outcome>(
  destination: Destination,
  item: Item,
  way: Way<Item, Outcome>,
  call: Outside,
): Promise<Outcome> {
  let waiting: Waiting | undefined;
  const mine = new Promise<Outcome>((settle, fail) => {
    waiting = { item, settle: settle as (outcome: unknown) => void, fail };
    destination.waiting.push(waiting);
  });
  const now = call.now();
  if (destination.gathersSince === undefined || Math.abs(now - destination.gathersSince) > GATHERS_MS) {
    destination.gathersSince = now;
    const sent = gather(destination, way, call);
    call.keep?.(sent);
  }
  const sleep = (ms: number, signal: EndSignal) => call.sleep(ms, signal);
  const answered = await callOnce(() => mine, { timeoutMs: limitOf(call), sleep });
  // What has not left by now must not: whoever asked for it has gone on, and may have undone it.
  if (answered.kind === "timed_out" && waiting !== undefined) {
    waiting.isOver = true;
    destination.waiting = destination.waiting.filter((one) => one !== waiting);
  }
  return answerOf(answered);
}

function answerOf<Outcome>(answered: CallOutcome<Outcome>): Outcome {
  if (answered.kind === "answered") return answered.value;
  if (answered.kind === "failed") throw answered.cause;
  // It may have arrived: to whoever asked this is a lost answer, as where an object is not reached.
  throw Object.assign(new Error("a message was not answered in time"), { retryable: true });
}

/** Takes in whatever has arrived by the next turn of the event loop, and sends it; never rejects. */
async function gather<Item, Outcome>(
  destination: Destination,
  way: Way<Item, Outcome>,
  call: Outside,
): Promise<void> {
  await call.sleep(0).catch(() => undefined);
  delete destination.gathersSince;
  const all = destination.waiting;
  destination.waiting = [];
  const messages: Promise<void>[] = [];
  while (all.length > 0) messages.push(send(all.splice(0, MESSAGE_MAX), way));
  await Promise.all(messages);
}

async function send<Item, Outcome>(batch: readonly Waiting[], way: Way<Item, Outcome>): Promise<void> {
  try {
    const outcomes = await way.together(batch.map(({ item }) => item as Item));
    for (const [index, { settle, fail }] of batch.entries()) {
      if (index < outcomes.length) settle(outcomes[index]);
      else fail(new Error("an item of a message was left unanswered"));
    }
  } catch (failure) {
    // One of them may have failed them all.
    const goAlone = batch.length > 1 && mayRepeat(way.repeats, classify(failure));
    if (goAlone) await mapBounded(batch, (one) => sendAlone(one, way));
    else for (const { fail } of batch) fail(failure);
  }
}

/** A defect ends the transaction that it was met in: nothing of its message was done. */
function mayRepeat(repeats: "always" | "after_defect" | undefined, failure: PlatformFailure): boolean {
  if (repeats === "after_defect") return failure === "unknown";
  return repeats === "always" && failure !== "overloaded";
}

async function sendAlone<Item, Outcome>(
  { item, isOver, settle, fail }: Waiting,
  way: Way<Item, Outcome>,
): Promise<void> {
  if (isOver === true) return;
  await way.alone(item as Item).then(settle, fail);
}
