/**
 * What both sides must agree in after a step. May import: the vocabulary of the cases.
 * Rule: everything is compared but what is named here, with the reason.
 */
import { deepStrictEqual } from "node:assert";
import type { OperationName, Outcome } from "../../conformance/vocabulary.ts";

/** A block as both sides tell of it. */
export interface BlockText {
  readonly cidr: string;
  readonly affinity: string | null;
  readonly claimTimeSet: boolean;
  readonly allocated: readonly string[];
  readonly cooldown: readonly string[];
  readonly free: readonly string[];
  readonly sequenceNumber: number;
}

/** The sides differ. */
export class Disagreement extends Error {}

export function agree(what: string, objects: unknown, reference: unknown): void {
  try {
    deepStrictEqual(objects, reference);
  } catch {
    throw new Disagreement(`${what}:\n  objects   ${shown(objects)}\n  reference ${shown(reference)}`);
  }
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}

/**
 * A block without what only one side tells: the queue of free addresses is not to be seen from outside,
 * and numbers also count what the reference has no word for.
 */
export function sightOf({ sequenceNumber: _number, free, ...block }: BlockText) {
  return { ...block, free: free.toSorted() };
}

/** What of an outcome both sides can tell. */
export function comparable(op: OperationName, outcome: Outcome): Outcome {
  const { error } = outcome;
  // The answer of the API holds the whole pool, with fields that no case knows.
  if (op === "createPool") return error === undefined ? {} : { error };
  // The reference does not know how long a removal takes: a host is there or it is not.
  if (error?.kind === "host_removing") return { ...outcome, error: { ...error, kind: "notFound" } };
  // A refusal names the pool of the family that came short first; of the other one `considered` tells.
  const isSearched = outcome.v4 != null || outcome.v6 != null;
  if (error?.pool !== undefined && isSearched) return { ...outcome, error: { kind: error.kind } };
  return outcome;
}
