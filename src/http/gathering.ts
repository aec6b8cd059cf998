/**
 * Requests that reach one object together go as one message: one call, one turn of the object for all of them.
 * May import: core, rpc, platform, http. Rule: nobody waits for a message that somebody else sends without an end.
 */
import { invariant } from "../core/invariant.ts";
import { callOnce, type EndSignal } from "../platform/call.ts";
import type { Ports } from "../rpc/ports.ts";
import { sendAll, sendWaiting, type Waiting, type Way, waitingFor } from "./messages.ts";
import type { Call } from "./operation.ts";
import { unanswered, waitLimitMs } from "./waiting.ts";

/** How long an object counts as busy after it was, ms: then the first of the next ones waits for the others, too. */
const BUSY_MS = 100;
/** Whoever gathers sends within a turn of the event loop; one that has not for so long was cut off, ms. */
const GATHERS_MS = 100;
/** Destinations remembered; beyond, idle ones are forgotten. */
const DESTINATIONS_MAX = 4_096;

/** A way to one object that others take, too. */
export interface GatheredWay<Item, Outcome> extends Way<Item, Outcome> {
  /** Names the object, and what is asked of it. */
  readonly to: string;
}

type Outside = Pick<Call, "ports" | "settings" | "now" | "sleep" | "keep">;

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
  way: GatheredWay<Item, Outcome>,
  call: Outside,
): Promise<Outcome> {
  return await travelling(way, call, async (destination) => {
    if (destination === undefined) return await way.alone(item);
    return outcomeOf(await goTogether(destination, [item], way, call));
  });
}

/** Sends items that are there together, with others like them. Shape: what became of each, in their order. */
export async function sendAllGathered<Item, Outcome>(
  items: readonly Item[],
  way: GatheredWay<Item, Outcome>,
  call: Outside,
): Promise<PromiseSettledResult<Outcome>[]> {
  return await travelling(way, call, async (destination) => {
    if (destination === undefined) return await Promise.allSettled(sendAll(items, way));
    return await goTogether(destination, items, way, call);
  });
}

/** Counts what is under way to an object; `go` is told where it gathers, and nothing where it goes by itself. */
async function travelling<Item, Outcome, T>(
  way: GatheredWay<Item, Outcome>,
  call: Outside,
  go: (destination: Destination | undefined) => Promise<T>,
): Promise<T> {
  const destination = destinationOf(way.to, call.ports);
  const { underWay } = destination;
  const { aloneMax } = call.settings;
  const now = call.now();
  forgetCutOff(underWay, now, waitLimitMs(call));
  const isQuiet = Math.abs(now - destination.busyAt) >= BUSY_MS;
  const isAlone = isQuiet && underWay.size < aloneMax;
  const traveller = { since: now };
  underWay.add(traveller);
  if (underWay.size > aloneMax) destination.busyAt = now;
  try {
    return await go(isAlone ? undefined : destination);
  } finally {
    underWay.delete(traveller);
  }
}

function outcomeOf<Outcome>([only]: readonly PromiseSettledResult<Outcome>[]): Outcome {
  invariant(only !== undefined, "an item has an outcome");
  if (only.status === "rejected") throw only.reason;
  return only.value;
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
  items: readonly Item[],
  way: GatheredWay<Item, Outcome>,
  call: Outside,
): Promise<PromiseSettledResult<Outcome>[]> {
  const { waiting, outcomes } = waitingFor<Item, Outcome>(items);
  for (const one of waiting) destination.waiting.push(one);
  const now = call.now();
  if (destination.gathersSince === undefined || Math.abs(now - destination.gathersSince) > GATHERS_MS) {
    destination.gathersSince = now;
    const sent = gather(destination, way, call);
    call.keep?.(sent);
  }
  const sleep = (ms: number, signal: EndSignal) => call.sleep(ms, signal);
  const all = await callOnce(() => Promise.allSettled(outcomes), { timeoutMs: waitLimitMs(call), sleep });
  if (all.kind === "answered") return all.value;
  // What has not left by now must not: whoever asked for it has gone on, and may have undone it.
  for (const one of waiting) one.isOver = true;
  destination.waiting = destination.waiting.filter(({ isOver }) => isOver !== true);
  return outcomes.map(() => ({ status: "rejected", reason: unanswered() }));
}

/** Takes in whatever has arrived by the next turn of the event loop, and sends it; never rejects. */
async function gather<Item, Outcome>(
  destination: Destination,
  way: GatheredWay<Item, Outcome>,
  call: Outside,
): Promise<void> {
  await call.sleep(0).catch(() => undefined);
  delete destination.gathersSince;
  const all = destination.waiting;
  destination.waiting = [];
  await sendWaiting(all, way);
}
