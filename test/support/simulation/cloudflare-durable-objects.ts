/**
 * Stands in for the module `cloudflare:durable-objects` when the object classes run in Node.
 * May import: nothing. The mark is on the function itself, as on the platform.
 */
type Method = (...args: never[]) => unknown;

const marked = new WeakSet<Method>();

/** Marks methods that the platform may run twice after a lost connection. */
export function retryable(...methods: Method[]): void {
  for (const method of methods) {
    if (typeof method !== "function") throw new TypeError("retryable() takes functions");
    marked.add(method);
  }
}

/** Says whether a method carries the mark; the network duplicates only such calls. */
export function isRetryable(method: unknown): boolean {
  return typeof method === "function" && marked.has(method as Method);
}
