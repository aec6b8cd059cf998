/**
 * Which pools an automatic request may use, in which order, and the rule that excluded each other one.
 * May import: core only. Nothing here knows how full a pool is.
 */
import type { Use } from "./allocation.ts";
import { bits, formatCidr, parseCidrMasked } from "./cidr.ts";
import type { Considered, ConsideredRule, Family } from "./errors.ts";
import { invariant } from "./invariant.ts";
import type { CompiledPolicy, CompiledPool } from "./policy.ts";
import { err, ok, type Result } from "./result.ts";
import { explainMismatch, type Labels, matches } from "./selector.ts";

/** What decides which pools a request may use. */
export interface PoolRequest {
  readonly family: Family;
  readonly use: Use;
  /** Ignored for load balancers, whose host is virtual and has none. */
  readonly hostLabels: Labels;
  /** Absent: the request has no namespace, which counts as one without labels. */
  readonly namespaceLabels?: Labels | undefined;
  /** Names or exact ranges, in the order wanted; absent or empty: any automatic pool. */
  readonly pools?: readonly string[] | undefined;
  /** Addresses of each block set aside for the host: they need room. */
  readonly hostReserved?: { readonly start: number; readonly end: number } | undefined;
}

export interface PoolChoice {
  /** In the order to be tried. Invariant: not empty. */
  readonly pools: readonly CompiledPool[];
  /** Every pool of the family once, by name; the chosen ones as `used`. */
  readonly considered: readonly Considered[];
}

export interface NoPool {
  readonly code: "requested_pool_unavailable" | "no_qualified_pool" | "no_pool_selects_host";
  readonly considered: readonly Considered[];
  /** The first entry of the request's list that is not to be had, as written. */
  readonly pool?: string;
}

/** The verdict on one pool; `ok` means that it may be used. */
interface Verdict {
  readonly rule: ConsideredRule;
  readonly detail?: string;
}

const USABLE: Verdict = { rule: "ok" };

/**
 * Chooses the pools of a request: those listed, in the order listed, or those that are automatic and select
 * host and namespace, by name; of these, the ones that allow the use.
 * Rejects: a listed entry that is no enabled pool of the family with large enough blocks; nothing left
 * after the selectors; nothing left after the use, or no block large enough anywhere.
 * Why: the block size limit holds with and without a list; upstream forgets it without one.
 */
export function choosePools(policy: CompiledPolicy, request: PoolRequest): Result<PoolChoice, NoPool> {
  const ofFamily = policy.pools.filter((pool) => pool.cidr.family === request.family);
  const states = new Map(ofFamily.map((pool) => [pool, stateOf(pool, request)]));
  const listed = request.pools?.length ? listedPools(policy, request.pools) : undefined;
  const isUsable = (pool: CompiledPool | undefined): boolean =>
    pool !== undefined && states.get(pool)?.rule === "ok";

  const missing = listed?.find(({ pool }) => !isUsable(pool));
  const preferred = new Set(listed?.map(({ pool }) => pool).filter((pool) => pool !== undefined));
  const verdicts = new Map(
    ofFamily.map((pool) => [pool, verdictOf(pool, states, listed && preferred, request)]),
  );
  const considered = [...verdicts].map(([pool, verdict]) => consideredPool(pool, verdict));
  if (missing !== undefined) {
    const isTooSmall = missing.pool !== undefined && states.get(missing.pool)?.rule === "block_too_small";
    if (isTooSmall && !ofFamily.some(isUsable)) return err({ code: "no_qualified_pool", considered });
    const wrongFamily = missing.pool?.cidr.family !== request.family ? missing.pool : undefined;
    const others = wrongFamily ? [consideredPool(wrongFamily, wrongFamilyVerdict(wrongFamily))] : [];
    return err({
      code: "requested_pool_unavailable",
      considered: [...considered, ...others],
      pool: missing.text,
    });
  }
  if (!ofFamily.some(isUsable)) return err({ code: "no_qualified_pool", considered });

  const order = listed === undefined ? ofFamily : [...preferred];
  const selected = order.filter((pool) => isSelected(verdicts.get(pool)));
  if (selected.length === 0) return err({ code: "no_pool_selects_host", considered });
  const pools = selected.filter((pool) => verdicts.get(pool)?.rule === "ok");
  return pools.length === 0 ? err({ code: "no_qualified_pool", considered }) : ok({ pools, considered });
}

/**
 * The automatic pools of a family that select a host for workloads, by name, whatever the namespace.
 * Why: what a host can get at all does not depend on who asks next.
 */
export function poolsForHost(policy: CompiledPolicy, family: Family, hostLabels: Labels): CompiledPool[] {
  return policy.pools.filter((pool) => {
    const { definition } = pool;
    const isAutomatic =
      definition.assignmentMode === "Automatic" && definition.allowedUses.includes("Workload");
    return (
      pool.cidr.family === family && isAutomatic && isOpen(pool) && matches(pool.nodeSelector, hostLabels)
    );
  });
}

/** Whether a pool serves at all: it is neither disabled nor draining. */
export function isOpen({ definition }: CompiledPool): boolean {
  return !definition.disabled && definition.terminating === undefined;
}

/** The longest block prefix that leaves an address beside those set aside for the host. */
export function longestBlockPrefix(
  family: Family,
  hostReserved: { readonly start: number; readonly end: number } | undefined,
): number {
  const setAside = (hostReserved?.start ?? 0) + (hostReserved?.end ?? 0);
  invariant(Number.isSafeInteger(setAside) && setAside >= 0, "host reservations are whole numbers");
  return bits(family) - (setAside === 0 ? 0 : setAside.toString(2).length);
}

/** What a pool is by itself, whoever asks. */
function stateOf({ definition }: CompiledPool, request: PoolRequest): Verdict {
  if (definition.terminating !== undefined) return { rule: "pool_draining" };
  if (definition.disabled) return { rule: "pool_disabled" };
  const longest = longestBlockPrefix(request.family, request.hostReserved);
  if (definition.blockSize <= longest) return USABLE;
  const detail = `its blocks are /${definition.blockSize}; the host needs /${longest} or larger`;
  return { rule: "block_too_small", detail };
}

function verdictOf(
  pool: CompiledPool,
  states: ReadonlyMap<CompiledPool, Verdict>,
  listed: ReadonlySet<CompiledPool> | undefined,
  request: PoolRequest,
): Verdict {
  const state = states.get(pool) ?? USABLE;
  if (state.rule !== "ok") return state;
  if (listed !== undefined && !listed.has(pool)) return { rule: "not_requested" };
  const selection = listed === undefined ? selectionOf(pool, request) : USABLE;
  if (selection.rule !== "ok") return selection;
  const { allowedUses } = pool.definition;
  if (allowedUses.includes(request.use)) return USABLE;
  return { rule: "use_not_allowed", detail: `${request.use} is not among ${allowedUses.join(", ")}` };
}

function selectionOf(pool: CompiledPool, request: PoolRequest): Verdict {
  if (pool.definition.assignmentMode === "Manual") return { rule: "manual_only" };
  const hostLabels = request.use === "LoadBalancer" ? {} : request.hostLabels;
  if (!matches(pool.nodeSelector, hostLabels)) {
    return { rule: "node_selector", detail: explainMismatch(pool.nodeSelector, hostLabels) };
  }
  const namespaceLabels = request.namespaceLabels ?? {};
  if (!matches(pool.namespaceSelector, namespaceLabels)) {
    return {
      rule: "namespace_selector",
      detail: explainMismatch(pool.namespaceSelector, namespaceLabels),
    };
  }
  return USABLE;
}

function isSelected(verdict: Verdict | undefined): boolean {
  return verdict?.rule === "ok" || verdict?.rule === "use_not_allowed";
}

function consideredPool({ definition }: CompiledPool, verdict: Verdict): Considered {
  const outcome = verdict.rule === "ok" ? "used" : "skipped";
  return { kind: "pool", pool: definition.name, outcome, ...verdict };
}

function wrongFamilyVerdict({ definition }: CompiledPool): Verdict {
  return { rule: "wrong_family", detail: `it is an IPv${definition.family} pool` };
}

/** Finds each listed entry, by name or by range after masking, in any family and state. */
function listedPools(
  policy: CompiledPolicy,
  entries: readonly string[],
): readonly { text: string; pool: CompiledPool | undefined }[] {
  return entries.map((text) => {
    const range = text.includes("/") ? parseCidrMasked(text) : undefined;
    const cidr = range?.ok ? formatCidr(range.value) : undefined;
    const isListed = ({ definition }: CompiledPool): boolean =>
      definition.name === text || definition.cidr === cidr;
    return { text, pool: policy.pools.find(isListed) };
  });
}
