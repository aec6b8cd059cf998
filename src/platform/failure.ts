/**
 * Failures of the platform, classified in one place. May import: nothing.
 * Rule: an unknown failure is never taken for one that may be tried again.
 */

/**
 * Why a call or a write failed, by what the caller must do.
 * Shape: `overloaded` is never tried again; `unreachable` may be, once, when repeating is harmless;
 * `storage` means that nothing can be written there now; `unknown` may be a defect of the callee.
 */
export type PlatformFailure = "overloaded" | "unreachable" | "storage" | "unknown";

/** The marks that the platform puts on an error; its class is lost on the way. */
interface Marked {
  readonly message?: unknown;
  readonly retryable?: unknown;
  readonly overloaded?: unknown;
  readonly durableObjectReset?: unknown;
}

/** What ends every write: a full, failing or read-only medium by SQLite's own results, tables of a newer release. */
const STORAGE_RESULT = /SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT)|SCHEMA_TOO_NEW/;

/**
 * Tells what kind of failure was thrown.
 * Why: the order matters. An overloaded object also says `retryable`, and a full disk also says
 * that the object was reset; the harsher reading goes first.
 */
export function classify(thrown: unknown): PlatformFailure {
  if (typeof thrown !== "object" || thrown === null) return "unknown";
  const { message, retryable, overloaded, durableObjectReset }: Marked = thrown;
  if (overloaded === true) return "overloaded";
  if (typeof message === "string" && STORAGE_RESULT.test(message)) return "storage";
  if (retryable === true) return "unreachable";
  if (durableObjectReset === true) return "storage";
  return "unknown";
}
