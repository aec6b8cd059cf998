/**
 * Copies what is sent between objects, as the platform's structured clone does, but faster.
 * May import: nothing. Rule: whatever is not plain is left to structuredClone itself.
 */

/** Deeper than any message: a circle, which structuredClone can copy. */
const DEPTH_MAX = 40;

/** Copies a value. Rejects: what cannot be sent, e.g. a function. */
export function copied<T>(value: T): T {
  return copyOf(value, 0) as T;
}

function copyOf(value: unknown, depth: number): unknown {
  if (typeof value === "function" || typeof value === "symbol") return structuredClone(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEPTH_MAX) return structuredClone(value);
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (let at = 0; at < value.length; at++) list.push(copyOf(value[at], depth + 1));
    return list;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const name in value) copy[name] = copyOf((value as Record<string, unknown>)[name], depth + 1);
  return copy;
}
