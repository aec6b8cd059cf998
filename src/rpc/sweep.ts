/**
 * The port of the Sweep: checks of consistency, and the leak collector's progress. Types only.
 * Rule: it paces and brakes; what it knows of a host is what that Host told it last.
 */
import type { CheckRequest, CheckView, ListedFinding } from "../core/check.ts";
import type { Rejection } from "../core/errors.ts";
import type { Result } from "../core/result.ts";
import type { SweepLeakPort } from "./leaks.ts";

export type * from "../core/check.ts";

export interface SweepPort extends SweepLeakPort {
  /** Begins what is due and goes on with what is under way; a trigger calls it. `source` absent: `manual`. */
  tick(request: {
    readonly source?: "cron" | "alarm" | "manual";
  }): Promise<{ readonly kind: "nothing_to_do" | "working" }>;
  /** Begins a check; one runs at a time. */
  startCheck(request: CheckRequest): Promise<Result<CheckView, Rejection<"check_running">>>;
  /** Where a check stands, and its findings after a number. Absent: there is no such check, or no more. */
  getCheck(request: { readonly id: string; readonly after?: number; readonly limit: number }): Promise<{
    readonly view?: CheckView;
    readonly findings: readonly ListedFinding[];
    readonly next?: number;
  }>;
}
