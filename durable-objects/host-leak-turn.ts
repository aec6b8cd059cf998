/**
 * One audit of a host at a time: who comes meanwhile waits for the next one, all for the same.
 * May import: nothing. Rule: an audit that is waited for begins after it was asked for.
 */
export class HostTurn<O, T> {
  readonly #run: (order: O) => Promise<T>;
  readonly #merged: (one: O, other: O) => O;
  #running: Promise<T> | undefined;
  #waiting: { order: O; readonly end: Promise<T> } | undefined;

  constructor(run: (order: O) => Promise<T>, merged: (one: O, other: O) => O) {
    this.#run = run;
    this.#merged = merged;
  }

  /** Runs an order after the one that runs; one that waits already takes this one's wishes in. */
  ask(order: O): Promise<T> {
    if (this.#waiting !== undefined) {
      this.#waiting.order = this.#merged(this.#waiting.order, order);
      return this.#waiting.end;
    }
    if (this.#running === undefined) return this.#begin(order);
    const waiting = { order, end: this.#follow(this.#running) };
    this.#waiting = waiting;
    return waiting.end;
  }

  async #follow(before: Promise<T>): Promise<T> {
    await before.catch(() => undefined);
    const order = this.#waiting?.order as O;
    this.#waiting = undefined;
    return await this.#begin(order);
  }

  #begin(order: O): Promise<T> {
    const mine = this.#run(order).finally(() => {
      if (this.#running === mine) this.#running = undefined;
    });
    this.#running = mine;
    return mine;
  }
}
