/**
 * Writes suspicions of leaks as answers, with a sentence each: why it is held, and what to do.
 * May import: rpc and http. A suspicion is stored without words; they are made here.
 */
import type { AttachmentsView, ListedLeak, ReportView } from "../../rpc/leaks.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";
import { secondsOf } from "./gc.ts";

/** Writes one suspicion. */
export function leakOnWire(leak: ListedLeak): Wire["Leak"] {
  const { firstAbsentAt, lastAbsentAt, releasableAt, attributes, ...rest } = leak;
  return {
    ...rest,
    detail: DETAILS[leak.reason](leak),
    firstAbsentAt: timeText(firstAbsentAt),
    lastAbsentAt: timeText(lastAbsentAt),
    ...(releasableAt === undefined ? {} : { releasableAt: timeText(releasableAt) }),
    ...(attributes === undefined ? {} : { attributes: { ...attributes } }),
  };
}

/** Why it is not released, and the next step. */
const DETAILS: Record<ListedLeak["reason"], (leak: ListedLeak) => string> = {
  none: () => "Nothing holds it: the next audit of its host releases it.",
  grace_period: ({ releasableAt }) =>
    releasableAt === undefined
      ? "Seen absent; without a grace nothing is released. Set leakGraceSeconds (PATCH /v1/config)."
      : `Seen absent since its first observation; evidence taken after ${timeText(releasableAt)} confirms it.`,
  awaiting_recheck: () =>
    "Confirmed; it goes when evidence that is newer still calls it absent: the host's next report or attachment list or, where a cluster is asked, the next sweep.",
  handle_partly_alive: ({ handle }) =>
    `Another address of ${handle} is in use, or could not be judged: a handle goes as a whole. Look at GET /v1/handles/${handle}.`,
  breaker_open: () =>
    "Implausibly many leaks at once: the breaker was open when this was judged last. Look at GET /v1/gc: while breaker.open is true, POST /v1/gc/acknowledgements with breakerOpenedAt if they are leaks; after that it goes with the host's next evidence.",
  paused: () => "The collector is paused: PATCH /v1/gc with paused false lets it go on.",
  release_limit: () => "It waits its turn: so many are released per minute. Nothing to do.",
  too_young: () =>
    "Handed out, or changed hands, less than 120 s before the evidence was taken: the next one judges it.",
  evidence_stale: ({ host }) =>
    `The evidence about ${host} is too old to release on, or was incomplete. See that its agent runs and reports all workloads (complete: true).`,
  evidence_never: ({ host }) =>
    `Nothing has told of the workloads of ${host} since it registered. See that its agent reports.`,
  unreadable: ({ host }) =>
    `The cluster, or a block of ${host}, could not be read. The next audit tries again; GET /v1/gc shows the last error.`,
};

/** Writes what a report is answered. */
export function reportOnWire(view: ReportView): Wire["ReportResult"] {
  const { observedAt, addressesNotAllocated, nextReportWithinMs, leaks, accepted } = view;
  return {
    observedAt: timeText(observedAt),
    accepted,
    addressesNotAllocated: addressesNotAllocated.map((use) => ({ ...use })),
    leaks: { ...leaks },
    nextReportWithinSeconds: Math.max(1, secondsOf(nextReportWithinMs)),
  };
}

/** Writes what became of the handles that a runtime does not call valid. */
export function attachmentsOnWire({ released, held, results }: AttachmentsView): Wire["AttachmentGcResult"] {
  return {
    released,
    held,
    results: results.map(({ addresses, ...rest }) => ({ ...rest, addresses: [...addresses] })),
  };
}
