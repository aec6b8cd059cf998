/**
 * What the Sweep lets go: the bucket, the breaker and an operator's pause, one durable row each.
 * May import: core, rpc, storage. Rule: a grant is committed before it is answered, and what stops the
 * collector stands in its state until an operator ends it.
 */
import type { EventDraft } from "../src/core/events.ts";
import {
  acknowledge,
  BRAKE_LIMITS,
  type Brakes,
  newBrakes,
  notOpen,
  weigh,
} from "../src/core/leak-brakes.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import type { Author } from "../src/rpc/cluster.ts";
import type { HostLeakFigures, SweepLeakPort, WeighAnswer } from "../src/rpc/leaks.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./storage/store.ts";
import type { SweepRows } from "./storage/sweep-rows.ts";
import type { Pause, SweepState } from "./sweep-state.ts";

type Request<M extends keyof SweepLeakPort> = Parameters<SweepLeakPort[M]>[0];

const VIRTUAL_PREFIX = "virtual:";

export class SweepBrakes {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #rows: SweepRows;
  readonly #state: SweepState;

  constructor(runtime: Runtime, store: Store, rows: SweepRows, state: SweepState) {
    this.#runtime = runtime;
    this.#store = store;
    this.#rows = rows;
    this.#state = state;
  }

  /**
   * Answers one host's wish. Why: what is due is counted under a pause too, so that a breaker opens
   * before the pause ends.
   */
  weigh({ host, due, wanted, isRemoved, isLost, figures }: Request<"weigh">): WeighAnswer {
    const now = this.#runtime.now();
    return this.#transaction(() => {
      this.#keep(host, figures, now);
      const isPaused = this.#state.read("pause") !== undefined;
      const before = this.#state.read("brakes") ?? newBrakes(now, BRAKE_LIMITS);
      const allocated = Math.max(figures.allocated, this.#rows.allocated());
      const wish = { host, due, wanted: isPaused ? 0 : wanted, isRemoved, isLost, allocated };
      const grant = weigh(before, { ...wish, allocatedOnHost: figures.allocated }, now, BRAKE_LIMITS);
      if (grant.granted > 0 || isChanged(before, grant.brakes)) {
        this.#state.know(now);
        this.#state.put("brakes", grant.brakes);
      }
      const { breaker } = grant.brakes;
      if (breaker !== undefined && before.breaker === undefined) this.#tellOpened(breaker);
      if (isPaused) return { granted: 0, stop: "paused" };
      const { granted, stop } = grant;
      return stop === undefined ? { granted } : { granted, stop };
    });
  }

  /** Pauses the collector, or lets it go on; asked again it changes nothing. */
  change({ paused, reason, by, requestId }: Request<"changeGc">): void {
    const now = this.#runtime.now();
    this.#transaction(() => {
      const before = this.#state.read("pause");
      const isPaused = paused ?? before !== undefined;
      if (!isPaused && before === undefined) return;
      if (!isPaused) this.#state.drop("pause");
      const after: Pause | undefined = isPaused
        ? {
            by: before?.by ?? by,
            at: before?.at ?? now,
            ...reasonOf(reason ?? before?.reason),
          }
        : undefined;
      if (after !== undefined && before !== undefined && after.reason === before.reason) return;
      this.#state.know(now);
      if (after !== undefined) this.#state.put("pause", after);
      this.#tell(
        { at: now, type: "config_changed", severity: after === undefined ? "info" : "warning" },
        { by, ...(requestId === undefined ? {} : { requestId }) },
        { before: pauseText(before), after: pauseText(after) },
      );
    });
  }

  /** Closes the breaker. Rejects: a time at which none opened that is open. */
  acknowledge({
    breakerOpenedAt,
    ...author
  }: Request<"acknowledge">): Result<"closed", ReturnType<typeof notOpen>> {
    const now = this.#runtime.now();
    return this.#transaction(() => {
      const before = this.#state.read("brakes");
      if (before?.breaker === undefined) return err(notOpen());
      const decided = acknowledge(before, breakerOpenedAt, now, BRAKE_LIMITS);
      if (!decided.ok) return decided;
      this.#state.put("brakes", decided.value);
      const { scope, confirmed } = before.breaker;
      this.#tell({ at: now, type: "config_changed", severity: "warning" }, author, {
        before: { "gc.breaker": `open: ${confirmed} leaks of ${scope}` },
        after: { "gc.breaker": "acknowledged" },
      });
      return ok("closed" as const);
    });
  }

  /** Takes over what a host tells besides its wish; times alone are no reason to write. */
  #keep(host: string, figures: HostLeakFigures, now: number): void {
    const before = this.#rows.find(host);
    if (before?.figures !== undefined && isSameButTime(before.figures, figures)) return;
    const kind = host.startsWith(VIRTUAL_PREFIX) ? "virtual" : "host";
    const met = this.#state.read("tour")?.number ?? 0;
    const unseen = { wasSeen: false, isUnreadable: false };
    const row = before ?? { host, kind, met, metAt: now, again: 0, node: unseen };
    this.#rows.put({ ...row, figures }, now);
  }

  #tellOpened({ openedAt, scope, confirmed, limitPercent }: NonNullable<Brakes["breaker"]>): void {
    const isHost = !scope.includes(" ");
    this.#tell(
      { at: openedAt, type: "breaker_opened", severity: "error", ...(isHost ? { host: scope } : {}) },
      undefined,
      { after: { scope, confirmed: String(confirmed), limitPercent: String(limitPercent) } },
    );
  }

  #tell(
    event: Pick<EventDraft, "at" | "type" | "severity" | "host">,
    author: Author | undefined,
    fields: Pick<EventDraft, "before" | "after">,
  ): void {
    const who = author === undefined ? {} : { actor: author.by };
    const request = author?.requestId === undefined ? {} : { requestId: author.requestId };
    this.#state.tell(`sweep ${this.#runtime.unique()}`, { ...event, ...who, ...request, ...fields });
  }

  #transaction<T>(decide: () => T): T {
    try {
      return this.#store.transaction(decide);
    } catch (failure) {
      this.#rows.forget();
      throw failure;
    }
  }
}

function reasonOf(reason: string | undefined): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}

function pauseText(pause: Pause | undefined): Readonly<Record<string, string>> {
  const reason = pause?.reason === undefined ? {} : { "gc.reason": pause.reason };
  return { "gc.paused": String(pause !== undefined), ...reason };
}

/** The bucket fills by itself, so that its level alone need not be stored. */
function isChanged(before: Brakes, after: Brakes): boolean {
  const told = ({ breaker, window: { dueByHost, allocated } }: Brakes) =>
    JSON.stringify([breaker, dueByHost, allocated]);
  return told(before) !== told(after);
}

function isSameButTime(before: HostLeakFigures, after: HostLeakFigures): boolean {
  const told = ({ auditedAt: _at, report: { ageMs: _age, ...report }, ...rest }: HostLeakFigures) =>
    JSON.stringify([report, rest]);
  return told(before) === told(after);
}
