/**
 * References of a case to what earlier steps gave. May import: nothing.
 * Shape: `"$name.path[i]"`, or `{"$ref": "name.path", "plus": n}` for a number.
 */

/** Replaces every reference in the arguments of a step. Rejects: one that leads nowhere. */
export function resolved(value: unknown, saved: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string" && value.startsWith("$")) return follow(value.slice(1), saved);
  if (Array.isArray(value)) return value.map((member) => resolved(member, saved));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value) {
    const { $ref, plus = 0 } = value as { $ref: string; plus?: number };
    const found = follow($ref, saved);
    if (typeof found !== "number") throw new Error(`${$ref} is no number`);
    return found + plus;
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolved(member, saved)]));
}

function follow(path: string, saved: ReadonlyMap<string, unknown>): unknown {
  const [name = "", ...steps] = path.split(/[.[\]]+/).filter((part) => part !== "");
  let found: unknown = saved.get(name);
  for (const step of steps) {
    found =
      typeof found === "object" && found !== null ? (found as Record<string, unknown>)[step] : undefined;
  }
  if (found === undefined) throw new Error(`nothing was saved as ${path}`);
  return found;
}
