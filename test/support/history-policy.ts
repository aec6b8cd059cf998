/**
 * Policy that is written while clients allocate, and what must hold of allocations under it.
 * May import: the lives of tenures. Rule: a rule counts only while no other value may be in force.
 */
import type { Violation } from "./history.ts";
import {
  type Allocate,
  claimOf,
  firstInvoked,
  grouped,
  idOf,
  isAllocate,
  type Life,
  livesOf,
  type Operation,
  type Request,
} from "./history-lives.ts";

/** One write of one thing that is written by one writer, one write after the other. */
export interface PolicyWrite<Value = unknown> extends Request {
  readonly value: Value;
}

/** What allocations may not get while a write of it is in force. */
export interface Rule<Value = unknown> {
  readonly invariant: "I7" | "I8";
  readonly name: string;
  readonly writes: readonly PolicyWrite<Value>[];
  /** Whether answers to later attempts of a key say nothing of the moment at which it was served. */
  readonly onlyFirst?: boolean;
  /** Whether an answer contradicts the value. */
  isBroken(value: Value, operation: Allocate, address: string): boolean;
}

/**
 * The value that was surely in force from one time to another.
 *
 * Invariant: an unknown write may come true at any time until one is acknowledged that was sent later.
 */
export function inForce<Value>(
  writes: readonly PolicyWrite<Value>[],
  from: number,
  to: number,
): PolicyWrite<Value> | undefined {
  const last = writes.findLast(({ outcome, answeredAt }) => outcome === "ok" && answeredAt < from);
  if (last === undefined) return undefined;
  const later = writes.slice(writes.indexOf(last) + 1).filter(({ outcome }) => outcome !== "refused");
  const isChanged = later.some(({ value, invokedAt }) => invokedAt <= to && value !== last.value);
  return isChanged ? undefined : last;
}

/** All values that may have been in force at some time between two times, the first one included. */
export function perhapsInForce<Value>(
  initial: Value,
  writes: readonly PolicyWrite<Value>[],
  from: number,
  to: number,
): Value[] {
  const last = writes.findLastIndex(({ outcome, answeredAt }) => outcome === "ok" && answeredAt < from);
  const sent = writes.slice(Math.max(last, 0)).filter(({ invokedAt }) => invokedAt <= to);
  return [...(last === -1 ? [initial] : []), ...sent.map(({ value }) => value)];
}

/** I7, I8: what was first asked for after the answer of a write obeys it. */
export function checkPolicy(history: readonly Operation[], rules: readonly Rule[]): Violation[] {
  const allocates = history.filter(isAllocate);
  const begun = firstInvoked(allocates);
  const granted = allocates.filter(({ got }) => got.length > 0);
  return rules.flatMap((rule) =>
    granted.flatMap((operation): Violation[] => {
      const from = begun.get(claimOf(operation)) ?? operation.invokedAt;
      if (rule.onlyFirst === true && operation.invokedAt !== from) return [];
      const write = inForce(rule.writes, from, operation.answeredAt);
      if (write === undefined) return [];
      return operation.got
        .filter(({ address }) => rule.isBroken(write.value, operation, address))
        .map((tenure) => ({
          invariant: rule.invariant,
          text: `${idOf(tenure)} was given to ${operation.handle} of ${operation.host} against ${rule.name}`,
        }));
    }),
  );
}

/** I9: no handle surely held more of a family at once than its limit, nor does it at the end. */
export function checkLimits(history: readonly Operation[], final: readonly Life["tenure"][]): Violation[] {
  const limits = new Map(
    history.filter(isAllocate).flatMap(({ handle, limit }) => (limit === undefined ? [] : [[handle, limit]])),
  );
  const limited = livesOf(history, final).filter(({ tenure }) => limits.has(tenure.handle));
  const familyOf = ({ tenure }: Life): string => (tenure.address.includes(":") ? "IPv6" : "IPv4");
  const groups = grouped(limited, (life) => `${life.tenure.handle} ${familyOf(life)}`);
  const listed = new Set(final.map(idOf));
  return [...groups].flatMap(([name, lives]): Violation[] => {
    const limit = limits.get(lives[0]?.tenure.handle ?? "") ?? 0;
    const atEnd = lives.filter(({ tenure }) => listed.has(idOf(tenure))).length;
    const most = Math.max(atEnd, mostAtOnce(lives.map(surelyHeld)));
    return most > limit ? [{ invariant: "I9", text: `${name}: ${most} at once, at most ${limit}` }] : [];
  });
}

/** From the first answer that told of it until the first request that may have ended it. */
export function surelyHeld({ isAcknowledged, answeredAt, ends }: Life): readonly [from: number, to: number] {
  const to = Math.min(...ends.map(({ invokedAt }) => invokedAt));
  return isAcknowledged && answeredAt < to ? [answeredAt, to] : [0, 0];
}

/** How many of some spans of time overlap at most. */
export function mostAtOnce(spans: readonly (readonly [from: number, to: number])[]): number {
  const turns = spans
    .filter(([from, to]) => from < to)
    .flatMap(([from, to]) => [
      { at: from, by: 1 },
      { at: to, by: -1 },
    ])
    .toSorted((a, b) => a.at - b.at || a.by - b.by);
  let held = 0;
  let most = 0;
  for (const { by } of turns) {
    held += by;
    most = Math.max(most, held);
  }
  return most;
}
