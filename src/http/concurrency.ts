/**
 * Doing many object calls at once, but not too many.
 * May import: nothing.
 */

/** Object calls that one request has under way at a time. */
export const CALLS_AT_ONCE = 16;
/** Objects that one page of a list asks; the rest comes with the next page. */
export const OBJECTS_PER_PAGE_MAX = 128;

/** Applies an asynchronous function to each item, a bounded number at a time; order is kept. */
export async function mapBounded<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce: number = CALLS_AT_ONCE,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await work(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
