/**
 * Stands in for the module `cloudflare:workers` when the object classes run in Node.
 * May import: nothing. Only what durable-objects/ uses of that module is here.
 */

/** The base class of every object: keeps the state handle and the environment, as the runtime does. */
export abstract class DurableObject<Env = unknown> {
  protected readonly ctx: unknown;
  protected readonly env: Env;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** Keeps the platform busy until a promise settles; here nothing ends before. */
export function waitUntil(promise: Promise<unknown>): void {
  promise.catch(() => {});
}
