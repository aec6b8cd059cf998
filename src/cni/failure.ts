/**
 * The plugin's failures: a CNI error number, a message for the runtime's log, details.
 * May import: client, cni. No message may carry a token or the text of stdin.
 */

import type { CallFailure } from "../client/transport.ts";
import type { Problem } from "../client/wire.ts";
import { CNI, cniNumberOf } from "./error-codes.ts";

/** What is printed when a command fails. */
export interface Failure {
  readonly code: number;
  readonly msg: string;
  readonly details?: string;
}

/** Makes a failure that the caller can mend in its configuration or environment. */
export function failure(code: number, msg: string, details?: string): Failure {
  return details === undefined ? { code, msg } : { code, msg, details };
}

/**
 * Turns a failed call into what the runtime prints.
 *
 * Shape: `msg` is `<code> (<number>): <what>. Next: <step>`, because most runtimes show nothing else;
 * `details` has the hint, the wait and the request id. `number` replaces the one that the code stands for.
 */
export function failureOfCall(call: CallFailure, server: string, number?: number): Failure {
  const later = tryingLater(call.requestId, number ?? CNI.tryAgainLater);
  switch (call.kind) {
    case "refused":
      return refused(call.problem, number);
    case "unreachable":
      return later(
        "server_unreachable",
        `${server} cannot be reached (${call.reason}).`,
        "check that the service runs and that ipam.server names it, then try again",
      );
    case "timed_out":
      return later(
        "server_timeout",
        `${server} gave no answer within ${call.afterMs} ms.`,
        "try again: a repeated ADD finds what was allocated, a DEL frees it",
      );
    case "unexpected_answer":
      return later(
        "unexpected_answer",
        `${server} answered HTTP ${call.status} with ${call.reason}.`,
        "look for a proxy in between and check ipam.server, then try again",
      );
  }
}

function tryingLater(requestId: string, number: number) {
  return (name: string, what: string, next: string): Failure =>
    failure(number, `${name} (${number}): ${what} Next: ${next}.`, `hint: ${next}; request id: ${requestId}`);
}

function refused(problem: Problem, number: number | undefined): Failure {
  const code = number ?? cniNumberOf(problem.code, problem.status, problem.retry);
  const next = problem.hint ?? nextStep(problem);
  const details = [`hint: ${next}`];
  for (const fault of problem.errors ?? []) {
    details.push(`${fault.pointer ?? fault.parameter ?? "request"}: ${fault.message}`);
  }
  if (problem.retryAfterSeconds !== undefined) details.push(`retry after ${problem.retryAfterSeconds} s`);
  details.push(`request id: ${problem.requestId}`);
  return failure(code, `${problem.code} (${code}): ${problem.detail} Next: ${next}`, details.join("; "));
}

function nextStep(problem: Problem): string {
  if (problem.retry === "later" || problem.retry === "same_request") return "try again later.";
  return `read /docs/errors/${problem.code} of the service.`;
}
