/**
 * What a failure of the platform is to a caller. May import: core, platform.
 * Rule: a failure that is not known is a defect, never a reason to try again.
 */
import { type Rejection, rejection } from "../src/core/errors.ts";
import { classify, type PlatformFailure } from "../src/platform/failure.ts";

type Refusal = Rejection<"overloaded" | "outcome_unknown" | "storage_unavailable">;

const REFUSALS: Readonly<Record<PlatformFailure, Refusal | undefined>> = {
  overloaded: rejection("overloaded", { where: "platform" }, 1),
  // It never arrived, or its answer was lost: whoever repeats it must use the same key.
  unreachable: rejection("outcome_unknown", {}, 1),
  storage: rejection("storage_unavailable", {}, 1),
  unknown: undefined,
};

/** Tells a failure of the platform from a defect; absent: a defect. */
export function refusalOf(error: unknown): Refusal | undefined {
  return REFUSALS[classify(error)];
}
