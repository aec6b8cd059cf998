/**
 * The service's clock, ahead of the real one by what was skipped while it was down: minutes pass in seconds.
 * May import: Node. Rule: it moves only while the service is down or nothing is under way, and never back.
 */

export class SkippingClock {
  /** Read at each start of the service. */
  readonly vars: Record<string, string> = { TEST_CLOCK_MS: "0", TEST_ALARMS: "moved" };
  readonly #skips: { readonly at: number; readonly ms: number }[] = [];

  get offsetMs(): number {
    return this.#skips.reduce((sum, { ms }) => sum + ms, 0);
  }

  /** Moves on by so much; the service learns of it as it starts. */
  skip(ms: number): void {
    this.#skips.push({ at: performance.timeOrigin + performance.now(), ms });
    this.vars.TEST_CLOCK_MS = String(this.offsetMs);
  }

  /** What was skipped between two real times. */
  skippedMs(from: number, to: number): number {
    const within = this.#skips.filter(({ at }) => from <= at && at <= to);
    return within.reduce((sum, { ms }) => sum + ms, 0);
  }
}
