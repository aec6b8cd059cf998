/**
 * What of the leak collector an operator should look at: it stands still, waits for him, or is not told enough.
 * May import: rpc and http. Rule: a warning is a fact of this answer, with the next step.
 */
import { DEPLOYMENT } from "../../core/leak-brakes.ts";
import type { GcView } from "../../rpc/leaks.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

type Warning = Wire["Warning"];

/** How the Sweep words that a cluster did not answer: its nodes, or the pods of a host. */
const OF_CLUSTER = /^(nodes of the cluster: |host \S+: kubernetes\b)/;
/** An audit that came so shortly before a sweep stands for the sweep's visit, ms. */
const AUDITED_BEFORE_MS = 300_000;

/** Lists the warnings of the collector: what stops it first. */
export function gcWarnings(gc: GcView): Warning[] {
  return [
    ...ofBreaker(gc),
    ...ofPause(gc),
    ...ofStandstill(gc),
    ...ofCluster(gc),
    ...ofAgents(gc),
    ...ofHeld(gc),
  ];
}

function ofBreaker({ breaker }: GcView): Warning[] {
  const { open, openedAt, scope = DEPLOYMENT, confirmed = 0, limitPercent = 0 } = breaker;
  if (!open || openedAt === undefined) return [];
  const isHost = scope !== DEPLOYMENT;
  const at = timeText(openedAt);
  return [
    {
      code: "gc_breaker_open",
      ...(isHost ? { host: scope } : {}),
      summary: `The breaker of the leak collector opened at ${at}: ${confirmed} leaks of ${scope} were due at once, more than ${limitPercent} %. Nothing is released.`,
      hint: `Look at GET /v1/leaks${isHost ? `?host=${scope}` : ""}. If they are leaks, POST /v1/gc/acknowledgements {"breakerOpenedAt":"${at}"}; if not, mend what reports.`,
    },
  ];
}

function ofPause({ paused, pausedBy, pauseReason }: GcView): Warning[] {
  if (!paused) return [];
  const who = pausedBy === undefined ? "" : ` by ${pausedBy}`;
  const why = pauseReason === undefined ? "" : `: ${pauseReason}`;
  return [
    {
      code: "gc_paused",
      summary: `The leak collector is paused${who}${why}. Leaks are found and not released.`,
      hint: "PATCH /v1/gc with paused false lets it go on.",
    },
  ];
}

function ofStandstill({ state, tick, lastError, oldestAuditHost }: GcView): Warning[] {
  if (tick.overdue) {
    const since =
      tick.lastAt === 0 ? "has never called it" : `has not called it since ${timeText(tick.lastAt)}`;
    return [
      {
        code: "gc_stuck",
        summary: `The leak collector stands still: its trigger ${since}.`,
        hint: "See that the cron trigger is deployed; POST /v1/gc/sweeps runs a sweep meanwhile.",
      },
    ];
  }
  if (state !== "stuck") return [];
  const error =
    lastError === undefined ? "" : ` Its last error: ${lastError.what} at ${timeText(lastError.at)}.`;
  return [
    {
      code: "gc_stuck",
      ...(oldestAuditHost === undefined ? {} : { host: oldestAuditHost }),
      summary: `The leak collector stands still: no host was audited where one was due.${error}`,
      hint: "Read GET /v1/gc and the log of the service; POST /v1/gc/sweeps begins a sweep.",
    },
  ];
}

/** An error that the last sweep, or one since, did not meet again is over. */
function ofCluster({ lastError, lastSweepAt, lastSweepMs = 0 }: GcView): Warning[] {
  if (lastError === undefined || !OF_CLUSTER.test(lastError.what)) return [];
  if (lastError.at < lastSweepAt - lastSweepMs - AUDITED_BEFORE_MS) return [];
  return [
    {
      code: "cluster_unreadable",
      summary: `The cluster could not be read at ${timeText(lastError.at)}: ${lastError.what}. What it has to call absent is not released.`,
      hint: "See that its API server can be reached and accepts the token (KUBERNETES_API_URL, KUBERNETES_TOKEN); docs/kubernetes.md explains each word. The next sweep asks again.",
    },
  ];
}

function ofAgents({ hostsStale }: GcView): Warning[] {
  if (hostsStale === 0) return [];
  const hosts = hostsStale === 1 ? "1 host has" : `${hostsStale} hosts have`;
  return [
    {
      code: "hosts_silent",
      summary: `${hosts} stopped reporting: nothing there is released on their word.`,
      hint: "GET /v1/hosts?state=silent lists them. See that their agents run; DELETE /v1/hosts/{host} removes one that is gone.",
    },
  ];
}

function ofHeld({ counts: { held } }: GcView): Warning[] {
  if (held === 0) return [];
  const addresses = held === 1 ? "1 address is" : `${held} addresses are`;
  return [
    {
      code: "leaks_held",
      summary: `${addresses} due to be released, and held back.`,
      hint: "GET /v1/leaks?state=held says of each why, and what to do.",
    },
  ];
}
