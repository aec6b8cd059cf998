/**
 * The shape of one row of the problem table: how one error code is told to a caller.
 * May import: core. Rows are data plus pure text; nothing here reads a clock.
 */
import type { Code, EvidenceByCode } from "../../core/errors.ts";

/** Whether repeating the request can help. */
export type Retry = "no" | "after_change" | "later" | "same_request";

/** What the edge knows beyond the evidence when it words a hint. */
export interface HintContext {
  /** Whether strict affinity is on, where the Worker's policy is at hand. */
  strictAffinity?: boolean;
  /** The cap that the request itself named. */
  requestedMaxBlocksPerHost?: number;
}

/** How one code is told: the numbers, the words, and the page. */
export interface ProblemRow<C extends Code> {
  readonly status: number;
  readonly title: string;
  readonly retry: Retry;
  /** The number that the CNI plugin prints for it; a test holds it to the plugin's own table. */
  readonly cni: number;
  /** When this code is answered; stands on the code's page. */
  readonly meaning: string;
  /** What to do next; the hint, unless `hint` makes a better one from the evidence. */
  readonly next: string;
  /** The evidence that the answer carries; stands on the code's page. */
  readonly evidence: readonly (keyof EvidenceByCode[C] & string)[];
  /** Seconds for Retry-After where the refusal knows no better; only for 429 and 503. */
  readonly retryAfterSeconds?: number;
  readonly detail: (evidence: EvidenceByCode[C]) => string;
  readonly hint?: (evidence: EvidenceByCode[C], context: HintContext) => string;
}

/** A part of the problem table. */
export type ProblemRows<C extends Code> = { readonly [K in C]: ProblemRow<K> };

/** Writes a time as RFC 3339 in UTC with milliseconds. Units: milliseconds since 1970. */
export function timeText(at: number): string {
  return new Date(at).toISOString();
}
