/**
 * Problem rows for failures that are not the caller's: load, storage, start-up, defects.
 * May import: core types and row.ts. Each 429 and 503 states its Retry-After.
 */
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../core/limits.ts";
import type { ProblemRows } from "./row.ts";

type PlatformCode =
  | "rate_limited"
  | "internal_error"
  | "overloaded"
  | "in_progress"
  | "outcome_unknown"
  | "policy_unavailable"
  | "deadline_exceeded"
  | "storage_unavailable"
  | "maintenance"
  | "not_ready"
  | "auth_not_configured";

/** Names what the failure concerns, or nothing. */
function concerning(e: { host?: string; handle?: string; address?: string }): string {
  const named = e.address ?? e.handle ?? e.host;
  return named === undefined ? "" : ` for ${named}`;
}

export const platformProblems: ProblemRows<PlatformCode> = {
  rate_limited: {
    status: 429,
    title: "Too many requests from this caller",
    retry: "same_request",
    cni: 11,
    meaning: "This token has used its share of requests.",
    next: "Wait for Retry-After, then go on with growing pauses and some jitter.",
    evidence: ["limit"],
    retryAfterSeconds: 1,
    detail: ({ limit }) => `This token may send ${limit} requests per second.`,
  },
  internal_error: {
    status: 500,
    title: "The service has a defect",
    retry: "same_request",
    cni: 11,
    meaning: "The service contradicted itself. The request may or may not have had its effect.",
    next: "Report the requestId; repeating the same request with the same key is safe.",
    evidence: [],
    detail: () => "The service met a defect of its own.",
  },
  overloaded: {
    status: 503,
    title: "Part of the service is overloaded",
    retry: "same_request",
    cni: 11,
    meaning: "The queue of one object, or of the platform, is full.",
    next: "Wait for Retry-After and send the same request again; is one host much busier than the others?",
    evidence: [],
    retryAfterSeconds: 1,
    detail: ({ where }) => `The queue is full (${where}).`,
  },
  in_progress: {
    status: 503,
    title: "An earlier attempt is not settled",
    retry: "same_request",
    cni: 11,
    meaning:
      "An earlier attempt with this key or handle may still have its effect, so this one cannot be decided yet.",
    next: "Send the same request with the same key again after Retry-After.",
    evidence: ["host", "handle"],
    retryAfterSeconds: IN_PROGRESS_RETRY_AFTER_SECONDS,
    detail: (e) => `An earlier attempt${concerning(e)} is not settled yet.`,
  },
  outcome_unknown: {
    status: 503,
    title: "The outcome is not known",
    retry: "same_request",
    cni: 11,
    meaning: "A part of the service did not answer in time: the request may or may not have had its effect.",
    next: "Send the same request with the same key again: it finds what was done. Or release the handle.",
    evidence: ["host", "handle", "address"],
    retryAfterSeconds: 1,
    detail: (e) => `The outcome${concerning(e)} is not known.`,
  },
  policy_unavailable: {
    status: 503,
    title: "The policy cannot be read",
    retry: "same_request",
    cni: 11,
    meaning: "No policy lease can be had, and nothing is given out without one.",
    next: "Wait for Retry-After and send the same request again.",
    evidence: [],
    retryAfterSeconds: 2,
    detail: () => "No policy lease can be had now.",
  },
  deadline_exceeded: {
    status: 503,
    title: "The request's time is over",
    retry: "same_request",
    cni: 11,
    meaning:
      "The time that X-Request-Timeout-Ms allows ran out, and it is certain that nothing was committed.",
    next: "Send the same request with the same key again, with more time.",
    evidence: [],
    retryAfterSeconds: 1,
    detail: () => "The time that the request allows ran out; nothing was committed.",
  },
  storage_unavailable: {
    status: 503,
    title: "The storage does not take writes",
    retry: "same_request",
    cni: 11,
    meaning: "The platform's storage failed, for instance because the disk is full.",
    next: "Look at the disk, or at the platform's status page.",
    evidence: [],
    retryAfterSeconds: 5,
    detail: () => "The storage does not take writes now.",
  },
  maintenance: {
    status: 503,
    title: "Allocation is switched off for maintenance",
    retry: "later",
    cni: 11,
    meaning: "An operator switched maintenance on. Reads and releases still work.",
    next: "Wait until maintenance is over (GET /v1/config).",
    evidence: [],
    retryAfterSeconds: 30,
    detail: ({ reason }) =>
      `Allocation is switched off for maintenance${reason === undefined ? "" : `: ${reason}`}.`,
  },
  not_ready: {
    status: 503,
    title: "The service is not ready",
    retry: "later",
    cni: 50,
    meaning: "A check of GET /readyz fails: the policy cannot be had, or the disk takes no writes.",
    next: "Wait a moment; if it stays, the detail names the check that fails.",
    evidence: [],
    retryAfterSeconds: 2,
    detail: ({ check }) => `The check ${check} fails.`,
  },
  auth_not_configured: {
    status: 503,
    title: "No credentials are configured",
    retry: "later",
    cni: 50,
    meaning:
      "The service has no readable IPAM_TOKENS and was not started with AUTH_MODE=none, so it answers nobody.",
    next: "Set the secret IPAM_TOKENS: a JSON list of {name, sha256, role, host?}.",
    evidence: [],
    retryAfterSeconds: 60,
    detail: () => "The service has no usable credentials configured.",
  },
};
