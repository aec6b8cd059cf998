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

/** The base class of values that cross calls by reference; the simulation refuses to send one. */
export abstract class RpcTarget {}

/** The module-wide environment: empty, since a simulated object is given its own. */
export const env: Record<string, unknown> = {};
