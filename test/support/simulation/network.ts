/**
 * Carries messages between instances: delay, loss, duplicates, order; by chance or by script.
 * May import: the simulation's own modules. It never runs an object's code itself.
 */
import type { Chance, Luck } from "./chance.ts";
import type { Counters } from "./counters.ts";
import { type Endpoint, labelOf, type Match, type Message, matches, type Outcome } from "./messages.ts";
import { platformFault } from "./platform-fault.ts";
import { type Scheduler, textOf } from "./scheduler.ts";

/** Faults that happen by chance, each drawn per message. All probabilities are 0 unless given. */
export interface NetworkFaults {
  /** Ordinary delay of a message in milliseconds; the default is exactly 1. */
  delay?: readonly [low: number, high: number];
  /** Chance that a message takes much longer, up to `lateMax` milliseconds. */
  late?: number;
  lateMax?: number;
  loseRequest?: number;
  loseAnswer?: number;
  /** Of the lost messages, the share that the caller learns of as a lost connection. */
  noticed?: number;
  /** Chance that a caller is told of a lost connection though its request is only late. */
  misreport?: number;
  /** Chance that a request is delivered twice; only for methods that are marked retryable. */
  duplicate?: number;
}

/** How the loss of a message looks to the caller. */
export type Loss = "silent" | "error";

/** Whom the network hands messages to. */
export interface Delivery {
  request(message: Message): void;
  isRetryable(to: Endpoint, method: string): boolean;
}

/** The caller's side of a call: told once, if it is still there. */
export type Settle = (outcome: Outcome) => void;

interface Rule {
  match: Match;
  left: number;
  take(message: Message): void;
}

/** Messages kept back by hold(). */
export interface Hold {
  readonly messages: readonly Message[];
  /** Lets all go, in order, and holds no more. */
  release(): void;
  /** Lets the oldest go (or the given number) and goes on holding. */
  releaseNext(count?: number): void;
  /** Lets the newest go and goes on holding. */
  releaseLast(): void;
  /** Loses all that is held, and holds no more. */
  drop(loss?: Loss): void;
}

const DEFAULT_DELAY = [1, 1] as const;
const LATE_MAX = 10_000;

export class Network {
  faults: NetworkFaults;
  /** Told of each request as it is sent; nothing that it does may move the world. */
  onRequest: ((message: Message) => void) | undefined;
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #counters: Counters;
  readonly #delivery: Delivery;
  readonly #rules = new Set<Rule>();
  readonly #calls = new Map<number, Settle>();
  #lastCall = 0;

  constructor(
    scheduler: Scheduler,
    chance: Chance,
    counters: Counters,
    delivery: Delivery,
    faults: NetworkFaults,
  ) {
    this.#scheduler = scheduler;
    this.#chance = chance;
    this.#counters = counters;
    this.#delivery = delivery;
    this.faults = faults;
  }

  /** Opens a call: the number that its messages carry. */
  open(settle: Settle): number {
    const call = ++this.#lastCall;
    this.#calls.set(call, settle);
    return call;
  }

  /** Puts a message on its way; chance decides here when it arrives, and whether. */
  send(message: Message): void {
    const { outcome, method } = message;
    if (isDefect(outcome)) this.#counters.defects.add(`${method}: ${outcome.error.message}`);
    const { loseRequest = 0, loseAnswer = 0, duplicate = 0, noticed = 0, misreport = 0 } = this.faults;
    const isRequest = message.kind === "request";
    if (isRequest) {
      this.#counters.call(message.from.className, message.to.className, message.method);
      this.onRequest?.(message);
    }
    const luck = this.#chance.at(labelOf(message).sort);
    if (luck.fault("lost", isRequest ? loseRequest : loseAnswer)) {
      this.#lose(message, luck.chance(noticed) ? "error" : "silent");
      return;
    }
    if (isRequest && luck.fault("misreported", misreport)) {
      this.#counters.event("misreport");
      this.fail(message, "connection_lost");
      this.#dispatch(message, luck.between(0, this.faults.lateMax ?? LATE_MAX));
      return;
    }
    this.#dispatch(message, this.#delay(luck));
    if (isRequest && duplicate > 0 && this.#delivery.isRetryable(message.to, message.method)) {
      if (luck.fault("doubled", duplicate)) {
        this.#counters.event("duplicate");
        this.#dispatch(message, this.#delay(luck));
      }
    }
  }

  /** Keeps matching messages back at the moment of their delivery. */
  hold(match: Match): Hold {
    const messages: Message[] = [];
    const rule = this.#addRule(match, Number.POSITIVE_INFINITY, (message) => messages.push(message));
    const letGo = (count: number): void => {
      for (const message of messages.splice(0, count)) this.#dispatch(message, 0, true);
    };
    return {
      messages,
      release: () => {
        this.#rules.delete(rule);
        letGo(messages.length);
      },
      releaseNext: (count = 1) => letGo(count),
      releaseLast: () => {
        const last = messages.pop();
        if (last !== undefined) this.#dispatch(last, 0, true);
      },
      drop: (loss = "silent") => {
        this.#rules.delete(rule);
        for (const message of messages.splice(0)) this.#lose(message, loss);
      },
    };
  }

  /** Loses the next matching messages. */
  drop(match: Match, times: number, loss: Loss): void {
    this.#addRule(match, times, (message) => this.#lose(message, loss));
  }

  /** Delays the next matching messages by so many milliseconds more. */
  delay(match: Match, ms: number, times: number): void {
    this.#addRule(match, times, (message) => this.#dispatch(message, ms, true));
  }

  /** Delivers the next matching messages, and each once more after so many milliseconds. */
  duplicate(match: Match, ms: number, times: number): void {
    this.#addRule(match, times, (message) => {
      this.#counters.event("duplicate");
      this.#dispatch(message, 0, true);
      this.#dispatch(message, ms, true);
    });
  }

  /** Answers the next matching requests with a failure of the platform, undelivered. */
  refuse(match: Match, fault: Parameters<typeof platformFault>[0], times: number): void {
    this.#addRule(match, times, (message) => this.fail(message, fault));
  }

  /** Tells the caller of a request, or of an answer's call, that the platform failed. */
  fail(message: Message, fault: Parameters<typeof platformFault>[0]): void {
    const [caller, callee] =
      message.kind === "request" ? [message.from, message.to] : [message.to, message.from];
    const outcome: Outcome = { ok: false, error: platformFault(fault) };
    const failure = { ...message, kind: "answer", from: callee, to: caller, outcome } as const;
    this.#dispatch(failure, this.#delay(this.#chance.at(`failure of ${labelOf(message).sort}`)));
  }

  #addRule(match: Match, times: number, take: Rule["take"]): Rule {
    const rule = { match, left: times, take };
    this.#rules.add(rule);
    return rule;
  }

  #delay(luck: Luck): number {
    const [low, high] = this.faults.delay ?? DEFAULT_DELAY;
    if (luck.fault("late", this.faults.late ?? 0)) return luck.between(high, this.faults.lateMax ?? LATE_MAX);
    return luck.between(low, high);
  }

  #lose(message: Message, loss: Loss): void {
    this.#counters.event(`lost ${message.kind}`);
    this.#scheduler.note(`lost ${textOf(labelOf(message))}`);
    if (loss === "error") this.fail(message, "connection_lost");
  }

  #dispatch(message: Message, delay: number, pastRules = false): void {
    const arrive = (): void => {
      if (!pastRules && this.#taken(message)) return;
      if (message.kind === "request") this.#delivery.request(message);
      else this.#settle(message);
    };
    this.#scheduler.after(delay, "message", labelOf(message), arrive);
  }

  #taken(message: Message): boolean {
    for (const rule of this.#rules) {
      if (!matches(rule.match, message)) continue;
      if (--rule.left <= 0) this.#rules.delete(rule);
      rule.take(message);
      return true;
    }
    return false;
  }

  #settle(message: Message): void {
    const settle = this.#calls.get(message.call);
    this.#calls.delete(message.call);
    if (settle !== undefined && message.outcome !== undefined) settle(message.outcome);
  }
}

/** An object's code threw what no platform throws. */
function isDefect(outcome: Outcome | undefined): outcome is { ok: false; error: Error } {
  if (outcome === undefined || outcome.ok) return false;
  const { error } = outcome;
  return (
    "remote" in error &&
    !("retryable" in error) &&
    !("overloaded" in error) &&
    !("durableObjectReset" in error)
  );
}
