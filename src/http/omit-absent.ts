/**
 * Values as parsed and values as sent differ in one thing: a member that is absent is not there at all.
 * May import: nothing.
 */

/** The same shape without `undefined`, at every depth. */
export type Present<T> = T extends readonly (infer I)[]
  ? readonly Present<I>[]
  : T extends object
    ? { [K in keyof T]: Present<Exclude<T[K], undefined>> }
    : T;

/** Leaves out members that are undefined. Shape: plain JSON data. */
export function present<T>(value: T): Present<T> {
  if (Array.isArray(value)) return value.map(present) as Present<T>;
  if (typeof value !== "object" || value === null) return value as Present<T>;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, present(member)])) as Present<T>;
}
