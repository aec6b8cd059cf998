/**
 * The one place where refusals become text: a total table over every code, and the
 * writer of problem+json. May import: core and http. A code without a row does not compile.
 */
import type { Code, Considered, EvidenceByCode, Rejection, Shortfall } from "../core/errors.ts";
import { CONSIDERED_REFUSAL_MAX } from "../core/limits.ts";
import { placementProblems } from "./problems/placement.ts";
import { platformProblems } from "./problems/platform.ts";
import { policyProblems } from "./problems/policy.ts";
import { requestProblems } from "./problems/request.ts";
import type { HintContext, ProblemRow, ProblemRows, Retry } from "./problems/row.ts";
import { timeText } from "./problems/row.ts";
import { stateProblems } from "./problems/state.ts";
import type { Wire } from "./schemas/components.ts";

/** How each code is told. Invariant: total over Code. */
export const PROBLEMS: ProblemRows<Code> = {
  ...requestProblems,
  ...stateProblems,
  ...placementProblems,
  ...policyProblems,
  ...platformProblems,
};

/** Evidence as it travels: the members of the contract's Evidence, times as text. */
const EVIDENCE_KEYS = [
  "host",
  "pool",
  "otherPool",
  "block",
  "address",
  "handle",
  "family",
  "state",
  "requested",
  "allocated",
  "limit",
  "owned",
  "revision",
  "sequenceNumber",
  "field",
  "role",
  "requiredRole",
] as const;

/** The row of one code, seen as a row of any code. */
function rowOf<C extends Code>(code: C): ProblemRow<C> {
  return PROBLEMS[code];
}

/** The HTTP status of a code. */
export function statusOf(code: Code): number {
  return PROBLEMS[code].status;
}

/** Writes what was considered, times as text. */
export function consideredOnWire(row: Considered): Wire["Considered"] {
  const { nextFreeAt, ...rest } = row;
  return nextFreeAt === undefined ? rest : { ...rest, nextFreeAt: timeText(nextFreeAt) };
}

/** Writes a shortfall; what exceeds the bound of a refusal is counted, not listed. */
export function shortfallOnWire(shortfall: Shortfall): Wire["Shortfall"] {
  const listed = shortfall.considered.slice(0, CONSIDERED_REFUSAL_MAX);
  return {
    ...shortfall,
    considered: listed.map(consideredOnWire),
    consideredOmitted: shortfall.consideredOmitted + shortfall.considered.length - listed.length,
  };
}

/** Picks the members of the contract's Evidence; undefined when nothing is left. */
function evidenceOnWire(evidence: EvidenceByCode[Code]): Wire["Evidence"] | undefined {
  const given = evidence as Record<string, unknown>;
  const written: Record<string, unknown> = {};
  for (const key of EVIDENCE_KEYS) if (given[key] !== undefined) written[key] = given[key];
  if (typeof given.freeAt === "number") written.freeAt = timeText(given.freeAt);
  if (Array.isArray(given.shortfall))
    written.shortfall = (given.shortfall as Shortfall[]).map(shortfallOnWire);
  return Object.keys(written).length === 0 ? undefined : (written as Wire["Evidence"]);
}

/** Whether repeating helps: where a time is known, waiting is what helps. */
function retryOf(retry: Retry, retryAfterSeconds: number | undefined): Retry {
  return retry === "after_change" && retryAfterSeconds !== undefined ? "later" : retry;
}

/**
 * Writes a refusal as the body of a problem answer.
 * Shape: contract component Problem; evidence holds only members that the contract names.
 */
export function problemBody<C extends Code>(
  rejection: Rejection<C>,
  requestId: string,
  context: HintContext = {},
): Wire["Problem"] {
  const row = rowOf(rejection.code as C);
  const evidence = rejection.evidence as EvidenceByCode[C];
  const retryAfterSeconds = rejection.retryAfterSeconds ?? row.retryAfterSeconds;
  const written = evidenceOnWire(evidence);
  const errors = (evidence as Partial<EvidenceByCode["invalid_request"]>).errors;
  return {
    type: `/docs/errors/${rejection.code}`,
    title: row.title,
    status: row.status,
    code: rejection.code,
    detail: row.detail(evidence),
    requestId,
    retry: retryOf(row.retry, rejection.retryAfterSeconds),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    hint: row.hint === undefined ? row.next : row.hint(evidence, context),
    ...(errors === undefined ? {} : { errors }),
    ...(written === undefined ? {} : { evidence: written }),
  };
}

/** Writes a refusal as an answer, with Retry-After on 429 and 503. */
export function problemResponse(
  rejection: Rejection,
  requestId: string,
  context: HintContext = {},
  headers: Record<string, string> = {},
): Response {
  const body = problemBody(rejection, requestId, context);
  const answer = new Headers({
    ...headers,
    "Content-Type": "application/problem+json",
    "X-Request-Id": requestId,
  });
  answer.set("Cache-Control", "no-store");
  if (body.status === 429 || body.status === 503)
    answer.set("Retry-After", String(body.retryAfterSeconds ?? 1));
  if (body.status === 401) answer.set("WWW-Authenticate", "Bearer");
  return new Response(JSON.stringify(body), { status: body.status, headers: answer });
}
