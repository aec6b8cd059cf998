/**
 * Allocations of one host that arrive together leave together: one object call, one turn of the Host for all.
 * May import: core, rpc, platform, http. Rule: a request waits for no other that is slower than itself.
 */
import { rejection } from "../core/errors.ts";
import { unreachable } from "../core/invariant.ts";
import { err } from "../core/result.ts";
import { callOnce, type EndSignal } from "../platform/call.ts";
import type { HostAllocateOutcome, HostAllocateRequest, TogetherOutcome } from "../rpc/host.ts";
import type { Ports } from "../rpc/ports.ts";
import type { Call } from "./operation.ts";

/** Requests under way of one host below which the next goes by itself: it has nobody to share with. */
const ALONE_MAX = 4;
/** Requests of one message; attributes of each may take 32 KiB, a message 32 MiB. */
const TOGETHER_MAX = 128;
/** Whoever gathers sends within a turn of the event loop; one that has not for so long was cut off, ms. */
const GATHERS_MS = 100;
/** Hosts with requests under way; beyond, the next requests go by themselves. */
const HOSTS_MAX = 4_096;

type Outside = Pick<Call, "ports" | "settings" | "now" | "sleep" | "keep">;

interface Waiting {
  readonly request: HostAllocateRequest;
  readonly settle: (outcome: TogetherOutcome) => void;
  readonly fail: (failure: unknown) => void;
}

/** Requests of one host. */
interface Departure {
  underWay: number;
  waiting: Waiting[];
  /** Since when somebody gathers; absent: nobody does. */
  gathersSince?: number;
}

const departuresOf = new WeakMap<Ports, Map<string, Departure>>();

/** Allocates at a host: by a call of its own where little is under way, else together with others. */
export async function allocateAt(request: HostAllocateRequest, call: Outside): Promise<HostAllocateOutcome> {
  const { host } = request;
  const departures = departuresOf.get(call.ports) ?? new Map<string, Departure>();
  departuresOf.set(call.ports, departures);
  const departure = departures.get(host) ?? { underWay: 0, waiting: [] };
  if (departures.size < HOSTS_MAX) departures.set(host, departure);
  const isAlone = departure.underWay < ALONE_MAX || !departures.has(host);
  departure.underWay += 1;
  try {
    return isAlone
      ? await call.ports.host(host).allocate(request)
      : await conclude(request, await goTogether(departure, request, call), call);
  } finally {
    departure.underWay -= 1;
    if (departure.underWay === 0) departures.delete(host);
  }
}

/**
 * Waits for the next message to the host, and sends it if nobody else does.
 * Why: what another event began may never settle, when that event was cut off; nobody waits for it for ever.
 */
async function goTogether(
  departure: Departure,
  request: HostAllocateRequest,
  call: Outside,
): Promise<TogetherOutcome> {
  const mine = new Promise<TogetherOutcome>((settle, fail) => {
    departure.waiting.push({ request, settle, fail });
  });
  const now = call.now();
  if (departure.gathersSince === undefined || Math.abs(now - departure.gathersSince) > GATHERS_MS) {
    departure.gathersSince = now;
    const sent = gather(departure, request.host, call);
    call.keep?.(sent);
  }
  const { untilMs, skewMs } = call.settings;
  const limit = {
    timeoutMs: 2 * (untilMs + skewMs),
    sleep: (ms: number, signal: EndSignal) => call.sleep(ms, signal),
  };
  const answered = await callOnce(() => mine, limit);
  if (answered.kind === "answered") return answered.value;
  if (answered.kind === "failed") throw answered.cause;
  const { host, handle } = request;
  return { kind: "done", outcome: err(rejection("outcome_unknown", { host, handle }, 1)) };
}

/** Takes in whatever has arrived by the next turn of the event loop, and sends it; never rejects. */
async function gather(departure: Departure, host: string, call: Outside): Promise<void> {
  await call.sleep(0).catch(() => undefined);
  delete departure.gathersSince;
  const all = departure.waiting;
  departure.waiting = [];
  const messages: Promise<void>[] = [];
  while (all.length > 0) messages.push(send(all.splice(0, TOGETHER_MAX), host, call));
  await Promise.all(messages);
}

async function send(batch: readonly Waiting[], host: string, call: Outside): Promise<void> {
  try {
    const items = batch.map(({ request }) => request);
    const { outcomes } = await call.ports.host(host).allocateTogether({ host, items });
    for (const [index, { settle, fail }] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined) fail(new Error("a request of a message was left unanswered"));
      else settle(outcome);
    }
  } catch (failure) {
    for (const { fail } of batch) fail(failure);
  }
}

/** What became of one request of a message; that of one that took longer than others is fetched. */
export async function conclude(
  request: Pick<HostAllocateRequest, "host" | "handle">,
  outcome: TogetherOutcome,
  call: Pick<Call, "ports">,
): Promise<HostAllocateOutcome> {
  switch (outcome.kind) {
    case "done":
      return outcome.outcome;
    case "failed":
      throw new Error(outcome.message);
    case "under_way": {
      const { host, handle } = request;
      const { ticket } = outcome;
      const later = await call.ports.host(host).allocated({ host, ticket });
      // The Host has ended since, and with it what it knew of this request.
      if (later === undefined) return err(rejection("outcome_unknown", { host, handle }, 1));
      return await conclude(request, later, call);
    }
    default:
      return unreachable(outcome);
  }
}
