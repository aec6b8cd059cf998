/**
 * Errors as the platform makes them: a plain Error with marks, its class lost on the way.
 * May import: nothing.
 */

/** The marks that callers classify failures by. */
export interface FaultMarks {
  retryable?: boolean;
  overloaded?: boolean;
  durableObjectReset?: boolean;
  remote?: boolean;
}

export type FaultName = "connection_lost" | "reset" | "overloaded" | "superseded" | "storage_full";

const FAULTS: Record<FaultName, { message: string; marks: FaultMarks }> = {
  connection_lost: { message: "Network connection lost.", marks: { retryable: true } },
  reset: {
    message: "The object was reset while the call was under way.",
    marks: { retryable: true, durableObjectReset: true },
  },
  overloaded: {
    message: "Durable Object is overloaded. Too many requests queued.",
    marks: { overloaded: true },
  },
  superseded: {
    message: "The storage belongs to a newer instance of this object.",
    marks: { retryable: true, durableObjectReset: true },
  },
  storage_full: { message: "database or disk is full: SQLITE_FULL", marks: { durableObjectReset: true } },
};

/** Makes a failure of the platform. */
export function platformFault(fault: FaultName): Error {
  const { message, marks } = FAULTS[fault];
  return Object.assign(new Error(message), marks);
}

/** Makes what a caller sees of an error that was thrown in another object: the text, not the class. */
export function acrossTheWire(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return Object.assign(new Error(String(thrown)), { remote: true });
  const { retryable, overloaded, durableObjectReset } = thrown as FaultMarks;
  const marks: FaultMarks = { remote: true };
  if (retryable !== undefined) marks.retryable = retryable;
  if (overloaded !== undefined) marks.overloaded = overloaded;
  if (durableObjectReset !== undefined) marks.durableObjectReset = durableObjectReset;
  return Object.assign(new Error(thrown.message, { cause: thrown }), marks);
}
