/**
 * Requests that came in one message: what is done is answered at once, the rest under a ticket.
 * May import: platform, rpc. Rule: in memory alone; what is lost with it is asked for again by its key.
 */
import { callOnce, type EndSignal } from "../src/platform/call.ts";
import type { HostAllocateOutcome, TogetherOutcome } from "../src/rpc/host.ts";
import type { Runtime } from "./runtime.ts";

/** How long a message waits for the first of its requests, ms. */
const FIRST_MS = 1_000;
/** How long it waits for the others then: as long as an index or a block takes to commit, ms. */
const OTHERS_MS = 20;
/** Turns of the microtask queue in which a request is refused that no other object is asked for. */
const TURNS = 16;
/** Addresses of one answer, with attributes of 32 KiB each; who has more is told them by a call of its own. */
const ADDRESSES_MAX = 128;
/** How long the outcome of a request is kept for whoever has its ticket, ms. */
const KEPT_MS = 30_000;

interface UnderWay {
  readonly outcome: Promise<TogetherOutcome>;
  readonly since: number;
}

interface Watched {
  readonly outcome: Promise<TogetherOutcome>;
  told?: TogetherOutcome;
}

export class HostTogether {
  readonly #runtime: Pick<Runtime, "now" | "sleep" | "unique">;
  /** Of this instance: a ticket of one before is known to nobody. */
  readonly #name: string;
  readonly #underWay = new Map<string, UnderWay>();
  #tickets = 0;

  constructor(runtime: Pick<Runtime, "now" | "sleep" | "unique">) {
    this.#runtime = runtime;
    this.#name = runtime.unique();
  }

  /** Answers when all are done, or soon after the first: one that is slow keeps the others no longer. */
  async answer(requests: readonly Promise<HostAllocateOutcome>[]): Promise<TogetherOutcome[]> {
    const all = requests.map(watched);
    // What is refused at once says nothing of how long the others take.
    for (let turn = 0; turn < TURNS; turn += 1) await undefined;
    const open = all.filter(({ told }) => told === undefined).map(({ outcome }) => outcome);
    if (open.length > 0) {
      await this.#within(FIRST_MS, () => Promise.race(open));
      await this.#within(OTHERS_MS, () => Promise.all(open));
    }
    this.#forgetOld();
    let addresses = 0;
    return all.map(({ told, outcome }) => {
      const count = addressesIn(told);
      const fits = count === 0 || addresses === 0 || addresses + count <= ADDRESSES_MAX;
      if (told === undefined || !fits) return this.#ticket(outcome);
      addresses += count;
      return told;
    });
  }

  /** The outcome that a ticket stands for; absent: it is of another instance, was fetched, or is too old. */
  async fetch(ticket: string): Promise<TogetherOutcome | undefined> {
    this.#forgetOld();
    const known = this.#underWay.get(ticket);
    const outcome = await known?.outcome;
    this.#underWay.delete(ticket);
    return outcome;
  }

  #within(timeoutMs: number, wait: () => Promise<unknown>): Promise<unknown> {
    const sleep = (ms: number, signal: EndSignal) => this.#runtime.sleep(ms, signal);
    return callOnce(wait, { timeoutMs, sleep });
  }

  #forgetOld(): void {
    const now = this.#runtime.now();
    for (const [old, { since }] of this.#underWay) {
      if (Math.abs(now - since) < KEPT_MS) break;
      this.#underWay.delete(old);
    }
  }

  #ticket(outcome: Promise<TogetherOutcome>): TogetherOutcome {
    this.#tickets += 1;
    const ticket = `${this.#name}/${this.#tickets}`;
    this.#underWay.set(ticket, { outcome, since: this.#runtime.now() });
    return { kind: "under_way", ticket };
  }
}

/** One request's defect is its own. */
function watched(request: Promise<HostAllocateOutcome>): Watched {
  const outcome = request.then(
    (done): TogetherOutcome => ({ kind: "done", outcome: done }),
    (defect: unknown): TogetherOutcome => {
      const { name, message, stack = "" } = defect instanceof Error ? defect : new Error(String(defect));
      return { kind: "failed", name, message, stack };
    },
  );
  const watch: Watched = { outcome };
  void outcome.then((told) => {
    watch.told = told;
  });
  return watch;
}

function addressesIn(told: TogetherOutcome | undefined): number {
  return told?.kind === "done" && told.outcome.ok ? told.outcome.value.addresses.length : 0;
}
