/**
 * Stands in for a block where only its clock matters: it refuses a message past its `until`.
 */
import { DurableObject } from "cloudflare:workers";

interface Clock {
  now(): number;
}

export class GateObject extends DurableObject<unknown> {
  readonly #clock: Clock;

  constructor(ctx: DurableObjectState, env: unknown, clock: Clock) {
    super(ctx, env);
    this.#clock = clock;
  }

  /** Says whether a message that may act until then still may, as a block would. */
  async pass({ until }: { until: number }): Promise<boolean> {
    return this.#clock.now() <= until;
  }
}
