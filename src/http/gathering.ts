/**
 * Requests that reach one object together go as one message: one call, one turn of the object for all of them.
 * May import: core, rpc, platform, http. Rule: nobody waits for a message that somebody else sends without an end.
 */
import { type CallOutcome, callOnce, type EndSignal } from "../platform/call.ts";
import { classify } from "../platform/failure.ts";
import type { Ports } from "../rpc/ports.ts";
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
  /** Each may be sent again by itself when a message of several has failed. */
  readonly mayRepeat?: true;
}

type Outside = Pick<Call, "ports" | "settings" | "now" | "sleep" | "keep">;

interface Waiting {
  readonly item: unknown;
  readonly settle: (outcome: unknown) => void;
  readonly fail: (failure: unknown) => void;
}

/** What is under way to one object. */
interface Destination {
  underWay: number;
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
  const { aloneMax } = call.settings;
  const isQuiet = Math.abs(call.now() - destination.busyAt) >= BUSY_MS;
  const isAlone = isQuiet && destination.underWay < aloneMax;
  destination.underWay += 1;
  if (destination.underWay > aloneMax) destination.busyAt = call.now();
  try {
    return isAlone ? await way.alone(item) : await goTogether(destination, item, way, call);
  } finally {
    destination.underWay -= 1;
  }
}

function destinationOf(to: string, ports: Ports): Destination {
  const destinations = destinationsOf.get(ports) ?? new Map<string, Destination>();
  destinationsOf.set(ports, destinations);
  const known = destinations.get(to);
  if (known !== undefined) return known;
  if (destinations.size >= DESTINATIONS_MAX) forgetIdle(destinations);
  const made = { underWay: 0, waiting: [], busyAt: Number.NEGATIVE_INFINITY };
  destinations.set(to, made);
  return made;
}

/** Whoever is under way keeps hold of its destination; another one of that name only gathers less. */
function forgetIdle(destinations: Map<string, Destination>): void {
  for (const [to, { underWay }] of destinations) if (underWay === 0) destinations.delete(to);
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
  const mine = new Promise<Outcome>((settle, fail) => {
    destination.waiting.push({ item, settle: settle as (outcome: unknown) => void, fail });
  });
  const now = call.now();
  if (destination.gathersSince === undefined || Math.abs(now - destination.gathersSince) > GATHERS_MS) {
    destination.gathersSince = now;
    const sent = gather(destination, way, call);
    call.keep?.(sent);
  }
  const { untilMs, skewMs } = call.settings;
  const timeoutMs = 2 * (untilMs + skewMs);
  const sleep = (ms: number, signal: EndSignal) => call.sleep(ms, signal);
  return answerOf(await callOnce(() => mine, { timeoutMs, sleep }));
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
    const goAlone = way.mayRepeat === true && batch.length > 1 && classify(failure) !== "overloaded";
    // One of them may have failed them all.
    if (goAlone) await Promise.all(batch.map((one) => sendAlone(one, way)));
    else for (const { fail } of batch) fail(failure);
  }
}

async function sendAlone<Item, Outcome>(
  { item, settle, fail }: Waiting,
  way: Way<Item, Outcome>,
): Promise<void> {
  await way.alone(item as Item).then(settle, fail);
}
