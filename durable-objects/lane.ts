/**
 * A lane to one object: with nothing in flight an element goes at once; while a batch is in flight new
 * ones wait and go together next. May import: platform. Rule: one element's failure is its own.
 */
import type { CallOutcome } from "../src/platform/call.ts";

/** An element as it is when its batch leaves; `skip` when by then it should not go. */
export type Leaving<Item, Skip> = { readonly item: Item } | { readonly skip: Skip };

export type LaneOutcome<Outcome, Skip> =
  | CallOutcome<Outcome>
  | { readonly kind: "skipped"; readonly skip: Skip };

interface Waiting<Item, Outcome, Skip> {
  readonly make: () => Leaving<Item, Skip>;
  readonly settle: (outcome: LaneOutcome<Outcome, Skip>) => void;
  readonly fail: (defect: unknown) => void;
}

interface Departing<Item, Outcome, Skip> {
  readonly item: Item;
  readonly waiting: Waiting<Item, Outcome, Skip>;
}

export interface LaneLimits<Item> {
  /** Batches under way at a time. */
  readonly inFlightMax: number;
  /** Elements of one batch; bounds the size of a message. */
  readonly batchMax: number;
  /** What an element says when it goes a second time; absent: the same. */
  readonly repeated?: (item: Item) => Item;
}

export class Lane<Item, Outcome, Skip = never> {
  readonly #send: (items: readonly Item[]) => Promise<CallOutcome<readonly Outcome[]>>;
  readonly #limits: LaneLimits<Item>;
  #queue: Waiting<Item, Outcome, Skip>[] = [];
  #inFlight = 0;
  #isLeaving = false;

  constructor(
    send: (items: readonly Item[]) => Promise<CallOutcome<readonly Outcome[]>>,
    limits: LaneLimits<Item>,
  ) {
    this.#send = send;
    this.#limits = limits;
  }

  get isIdle(): boolean {
    return this.#inFlight === 0 && this.#queue.length === 0;
  }

  /**
   * Sends an element with the next batch. `make` runs when the batch leaves, so that what it reads
   * (policy, time) is of that moment.
   */
  push(make: () => Leaving<Item, Skip>): Promise<LaneOutcome<Outcome, Skip>> {
    return new Promise((settle, fail) => {
      this.#queue.push({ make, settle, fail });
      if (this.#isLeaving) return;
      this.#isLeaving = true;
      // A microtask later, so that both families of one request leave together.
      queueMicrotask(() => this.#leave());
    });
  }

  #leave(): void {
    this.#isLeaving = false;
    while (this.#queue.length > 0 && this.#inFlight < this.#limits.inFlightMax) {
      const batch = this.#queue.splice(0, this.#limits.batchMax).flatMap((waiting) => departing(waiting));
      if (batch.length === 0) continue;
      this.#inFlight += 1;
      void this.#travel(batch).finally(() => {
        this.#inFlight -= 1;
        this.#leave();
      });
    }
  }

  #repeated({ item, waiting }: Departing<Item, Outcome, Skip>): Departing<Item, Outcome, Skip> {
    return { item: this.#limits.repeated?.(item) ?? item, waiting };
  }

  async #travel(batch: readonly Departing<Item, Outcome, Skip>[]): Promise<void> {
    try {
      const answer = await this.#send(batch.map(({ item }) => item));
      const mayGoAlone = answer.kind === "failed" && answer.failure !== "overloaded" && batch.length > 1;
      // One element may have failed them all: each goes once more, alone.
      if (mayGoAlone) await Promise.all(batch.map((element) => this.#travel([this.#repeated(element)])));
      else deliver(batch, answer);
    } catch (defect) {
      for (const { waiting } of batch) waiting.fail(defect);
    }
  }
}

function departing<Item, Outcome, Skip>(
  waiting: Waiting<Item, Outcome, Skip>,
): Departing<Item, Outcome, Skip>[] {
  try {
    const leaving = waiting.make();
    if ("item" in leaving) return [{ item: leaving.item, waiting }];
    waiting.settle({ kind: "skipped", skip: leaving.skip });
  } catch (defect) {
    waiting.fail(defect);
  }
  return [];
}

function deliver<Item, Outcome, Skip>(
  batch: readonly Departing<Item, Outcome, Skip>[],
  answer: CallOutcome<readonly Outcome[]>,
): void {
  for (const [index, { waiting }] of batch.entries()) {
    if (answer.kind !== "answered") {
      waiting.settle(answer);
      continue;
    }
    const value = answer.value[index];
    if (value === undefined) waiting.fail(new Error("an element of a batch was left unanswered"));
    else waiting.settle({ kind: "answered", value });
  }
}
