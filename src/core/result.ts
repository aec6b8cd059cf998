/**
 * Outcomes as values. A rejection is expected and carries its evidence; only
 * defects are thrown (invariant.ts). May import: nothing.
 */

/** The outcome of an operation that may be refused. */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

/** Wraps a value as success. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** Wraps a reason as refusal. */
export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}
