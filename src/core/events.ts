/**
 * What happened lately, as Cluster remembers it: changes of policy, refusals in aggregates, hosts.
 * May import: core only. No words are made here: a summary is worded at the edge.
 */
import type { Shortfall } from "./errors.ts";
import type { Config, PoolDefinition, ReservationDefinition } from "./policy.ts";

/** `overload` is reserved: who is overloaded can tell nobody, and who met it tells a `refusal`. */
export type EventType =
  | "refusal"
  | "config_changed"
  | "pool_changed"
  | "pool_draining"
  | "pool_gone"
  | "reservation_changed"
  | "host_registered"
  | "host_removed"
  | "host_silent"
  | "leak_released"
  | "breaker_opened"
  | "gc_stuck"
  | "pool_warning"
  | "repair"
  | "overload";

export type Severity = "info" | "warning" | "error";

/** Fields that a change was made of, as text. */
export type ChangedFields = Readonly<Record<string, string>>;

/** One thing that happened. Units: milliseconds since 1970. */
export interface EventDraft {
  readonly at: number;
  readonly type: EventType;
  readonly severity: Severity;
  /** Who did it, e.g. `token:ops`; absent: the service itself. */
  readonly actor?: string;
  readonly requestId?: string;
  /** Of a reservation. */
  readonly name?: string;
  readonly host?: string;
  readonly pool?: string;
  readonly address?: string;
  readonly code?: string;
  /** A refusal stands for so many requests, what was released for so many addresses. */
  readonly count?: number;
  /** Of a refusal: its first request. Of a host that is silent: when its last report was made. */
  readonly firstAt?: number;
  readonly before?: ChangedFields;
  readonly after?: ChangedFields;
  readonly shortfall?: readonly Shortfall[];
}

export interface RecentEvent extends EventDraft {
  /** Rises with time. */
  readonly id: number;
}

/** Requests of one host that were refused alike. Units: milliseconds since 1970. */
export interface RefusalRow {
  readonly code: string;
  readonly pool?: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Of the last one. */
  readonly shortfall?: readonly Shortfall[];
}

interface DefinitionByKind {
  readonly config: Config;
  readonly pool: PoolDefinition;
  readonly reservation: ReservationDefinition;
}

/** A definition that was made, changed or removed. */
export type PolicyChange = {
  [K in keyof DefinitionByKind]: {
    readonly kind: K;
    readonly before: DefinitionByKind[K] | undefined;
    readonly after: DefinitionByKind[K] | undefined;
  };
}[keyof DefinitionByKind];

/** Characters of one changed field; a reservation may have 256 ranges. */
const FIELD_TEXT_MAX = 1024;
/** Fields that change with every write, or never. */
const UNTOLD: ReadonlySet<string> = new Set([
  "revision",
  "updatedAt",
  "updatedBy",
  "createdAt",
  "incarnation",
]);

/** Makes the event of a change; what did not change is left out. */
export function policyEvent(
  change: PolicyChange,
  by: { readonly at: number; readonly actor?: string | undefined; readonly requestId?: string | undefined },
): EventDraft {
  const { actor, requestId, at } = by;
  const name = (change.after ?? change.before) as { readonly name?: string } | undefined;
  const named =
    name?.name === undefined ? {} : change.kind === "pool" ? { pool: name.name } : { name: name.name };
  return {
    at,
    type: typeOf(change),
    severity: "info",
    ...(actor === undefined ? {} : { actor }),
    ...(requestId === undefined ? {} : { requestId }),
    ...named,
    ...changedFields(change.before, change.after),
  };
}

/** Makes the event of a check that has mended what it could. */
export function repairEvent(
  done: { readonly check: string; readonly problems: number; readonly repaired: number },
  by: { readonly at: number; readonly actor?: string | undefined; readonly requestId?: string | undefined },
): EventDraft {
  const { actor, requestId, at } = by;
  return {
    at,
    type: "repair",
    severity: done.repaired < done.problems ? "warning" : "info",
    ...(actor === undefined ? {} : { actor }),
    ...(requestId === undefined ? {} : { requestId }),
    name: done.check,
    after: { problems: String(done.problems), repaired: String(done.repaired) },
  };
}

function typeOf({ kind, before, after }: PolicyChange): EventType {
  if (kind === "config") return "config_changed";
  if (kind === "reservation") return "reservation_changed";
  if (after === undefined) return "pool_gone";
  const drains = after.terminating !== undefined && before?.terminating === undefined;
  return drains ? "pool_draining" : "pool_changed";
}

/** The fields that differ; all of them where there was nothing before, or is nothing after. */
export function changedFields(
  before: object | undefined,
  after: object | undefined,
): { readonly before?: ChangedFields; readonly after?: ChangedFields } {
  const [was, is] = [asText(before), asText(after)];
  const differs = (one: ChangedFields, other: ChangedFields): ChangedFields =>
    Object.fromEntries(Object.entries(one).filter(([key, text]) => other[key] !== text));
  return {
    ...(before === undefined ? {} : { before: differs(was, is) }),
    ...(after === undefined ? {} : { after: differs(is, was) }),
  };
}

function asText(value: object | undefined): ChangedFields {
  const told = Object.entries(value ?? {}).filter(([key, field]) => !UNTOLD.has(key) && field !== undefined);
  return Object.fromEntries(
    told.map(([key, field]) => (key === "terminating" ? ["draining", "true"] : text(key, field))),
  );
}

function text(key: string, field: unknown): [string, string] {
  const whole = typeof field === "string" ? field : JSON.stringify(field);
  return [key, whole.length <= FIELD_TEXT_MAX ? whole : `${whole.slice(0, FIELD_TEXT_MAX - 1)}…`];
}
