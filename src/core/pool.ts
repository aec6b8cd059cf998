/**
 * Pools: how a definition is made, replaced and changed. What one may look like: pool-rules.ts.
 * May import: core only. A pool never changes its place or its block size.
 */
import { formatAddress, parseAddress } from "./address.ts";
import { type Cidr, formatCidr, overlaps, parseCidr } from "./cidr.ts";
import { given, nameFaults, nextRevision, type Revised, type Stamp } from "./definition.ts";
import { type FieldFault, type Rejection, rejection } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { BLOCK_SIZE_DEFAULT, WARN_AT_PERCENT_DEFAULT } from "./limits.ts";
import { ANSWER_PREFIXES, ASSIGNMENT_MODES, type PoolDefinition, TUNNEL_MODES, USES } from "./policy.ts";
import { ALL_SELECTOR, isOneOf, type PoolFields, poolFaults, rangeFaults } from "./pool-rules.ts";
import { err, ok, type Result } from "./result.ts";

/** The fields that may change while a pool lives; their texts are checked here, not by the type. */
export type PoolSettings = {
  readonly [K in keyof Omit<PoolFields, "blockSize">]?: PoolFields[K] | undefined;
};

/** A whole pool as asked for; what is absent takes its default. */
export interface PoolSpec extends PoolSettings {
  readonly cidr: string;
  /** Prefix length of its blocks; 0 or absent: the default, or what the pool already has. */
  readonly blockSize?: number | undefined;
}

/** The fields to change; what is absent stays. `draining: false` cancels a drain. */
export interface PoolPatch extends PoolSettings {
  readonly draining?: boolean | undefined;
}

type ChangeRefusal = Rejection<"invalid_request" | "pool_field_immutable" | "pool_draining">;
type Identity = Pick<PoolDefinition, "name" | "incarnation" | "createdAt" | "terminating">;

/**
 * Makes a new pool beside those that exist.
 * Rejects: every fault of every field at once; then an overlap with any pool, enabled or not.
 * Invariant: `existing` has no pool of this name; that one is replaced, not made.
 */
export function definePool(
  name: string,
  spec: PoolSpec,
  existing: readonly PoolDefinition[],
  stamp: Stamp & { readonly incarnation: number },
): Result<PoolDefinition, Rejection<"invalid_request" | "pool_overlap">> {
  const isNew = existing.every((pool) => pool.name !== name);
  invariant(isNew, `pool ${name} exists already`);
  const read = readSpec(spec, undefined);
  const faults = [...nameFaults(name, "pool"), ...read.faults];
  const { range } = read;
  if (faults.length > 0 || range === undefined) return err(invalid(faults));
  const other = existing.find((pool) => overlaps(rangeOf(pool), range));
  if (other !== undefined) {
    const cidr = formatCidr(range);
    return err(rejection("pool_overlap", { pool: name, otherPool: other.name, cidr, otherCidr: other.cidr }));
  }
  const identity = { name, incarnation: stamp.incarnation, createdAt: stamp.now };
  return ok(definitionOf(identity, range, read.fields, nextRevision(undefined, stamp)));
}

/**
 * Replaces a pool by a whole new specification; one that changes nothing gives back the very same definition.
 * Rejects: every fault at once; any write to a draining pool; another range or block size, and a pool for
 * load balancers that would serve workloads or tunnels.
 */
export function replacePool(
  current: PoolDefinition,
  spec: PoolSpec,
  stamp: Stamp,
): Result<PoolDefinition, ChangeRefusal> {
  const { fields, range, faults } = readSpec(spec, current.blockSize);
  if (faults.length > 0 || range === undefined) return err(invalid(faults));
  if (current.terminating !== undefined) return err(rejection("pool_draining", { pool: current.name }));
  if (formatCidr(range) !== current.cidr) return err(immutable(current, "cidr"));
  if (fields.blockSize !== current.blockSize) return err(immutable(current, "blockSize"));
  return changed(current, current, fields, stamp);
}

/**
 * Changes some fields of a pool; a patch that changes nothing gives back the very same definition.
 * Rejects: as replacePool; also `draining: true`, as deleting the pool is what drains it.
 */
export function changePool(
  current: PoolDefinition,
  patch: PoolPatch,
  stamp: Stamp,
): Result<PoolDefinition, ChangeRefusal> {
  const { draining, ...settings } = patch;
  const { blockSize } = current;
  const fields = { ...withDefaults({ ...current, ...given(settings) }), blockSize };
  const faults = poolFaults(fields, rangeOf(current));
  if (draining === true) {
    const message = "Only false is accepted, which cancels a drain; delete the pool to drain it.";
    faults.push({ pointer: "/draining", code: "out_of_range", message });
  }
  if (faults.length > 0) return err(invalid(faults));
  const { terminating, ...alive } = current;
  if (terminating !== undefined && draining !== false) {
    return err(rejection("pool_draining", { pool: current.name }));
  }
  return changed(current, alive, fields, stamp);
}

function invalid(errors: FieldFault[]): Rejection<"invalid_request"> {
  return rejection("invalid_request", { errors });
}

function immutable(pool: PoolDefinition, field: string): Rejection<"pool_field_immutable"> {
  return rejection("pool_field_immutable", { pool: pool.name, field });
}

function rangeOf(pool: PoolDefinition): Cidr {
  const range = parseCidr(pool.cidr);
  invariant(range.ok, `the range of pool ${pool.name} cannot be read`);
  return range.value;
}

function readSpec(
  spec: PoolSpec,
  currentBlockSize: number | undefined,
): { fields: PoolFields; range: Cidr | undefined; faults: FieldFault[] } {
  const read = parseCidr(spec.cidr);
  const range = read.ok ? read.value : undefined;
  const usual = currentBlockSize ?? BLOCK_SIZE_DEFAULT[range?.family ?? 4];
  const fields = { ...withDefaults(spec), blockSize: spec.blockSize || usual };
  return { fields, range, faults: [...rangeFaults(spec.cidr, read), ...poolFaults(fields, range)] };
}

/**
 * Fills in what a specification leaves out.
 * Why: upstream gives a pool with a namespace selector and no uses the use Tunnel too, and then refuses
 * the two together; here such a pool is for workloads.
 */
function withDefaults(settings: PoolSettings): Omit<PoolFields, "blockSize"> {
  const namespaceSelector = unlessBlank(settings.namespaceSelector, "");
  const uses = namespaceSelector === "" ? ["Workload", "Tunnel"] : ["Workload"];
  const { gateway, description } = settings;
  return {
    disabled: settings.disabled ?? false,
    assignmentMode: settings.assignmentMode ?? "Automatic",
    allowedUses: settings.allowedUses?.length ? [...new Set(settings.allowedUses)] : uses,
    nodeSelector: unlessBlank(settings.nodeSelector, ALL_SELECTOR),
    namespaceSelector,
    ipipMode: settings.ipipMode ?? "Never",
    vxlanMode: settings.vxlanMode ?? "Never",
    natOutgoing: settings.natOutgoing ?? false,
    disableBGPExport: settings.disableBGPExport ?? false,
    answerPrefix: settings.answerPrefix ?? "block",
    warnAtPercent: settings.warnAtPercent ?? WARN_AT_PERCENT_DEFAULT,
    ...given({ gateway, description }),
  };
}

function unlessBlank(text: string | undefined, instead: string): string {
  return text === undefined || /^[ \t]*$/.test(text) ? instead : text;
}

/** Invariant: the fields have no fault. */
function definitionOf(identity: Identity, range: Cidr, fields: PoolFields, revised: Revised): PoolDefinition {
  const { assignmentMode, answerPrefix, ipipMode, vxlanMode, gateway: text, ...rest } = fields;
  invariant(isOneOf(ASSIGNMENT_MODES, assignmentMode), "unchecked assignment mode");
  invariant(isOneOf(ANSWER_PREFIXES, answerPrefix), "unchecked answer prefix");
  invariant(isOneOf(TUNNEL_MODES, ipipMode) && isOneOf(TUNNEL_MODES, vxlanMode), "unchecked tunnel mode");
  const gateway = text === undefined ? undefined : parseAddress(text);
  invariant(gateway?.ok !== false, "unchecked gateway");
  const { name, incarnation, createdAt, terminating } = identity;
  return {
    name,
    incarnation,
    cidr: formatCidr(range),
    family: range.family,
    ...rest,
    assignmentMode,
    allowedUses: USES.filter((use) => rest.allowedUses.includes(use)),
    ipipMode,
    vxlanMode,
    answerPrefix,
    ...(gateway === undefined ? {} : { gateway: formatAddress(gateway.value) }),
    ...(terminating === undefined ? {} : { terminating }),
    createdAt,
    ...revised,
  };
}

function changed(
  current: PoolDefinition,
  identity: Identity,
  fields: PoolFields,
  stamp: Stamp,
): Result<PoolDefinition, ChangeRefusal> {
  const { revision, updatedAt, updatedBy } = current;
  const range = rangeOf(current);
  const kept = { revision, updatedAt, ...given({ updatedBy }) };
  if (isSame(definitionOf(identity, range, fields, kept), current)) return ok(current);
  const next = definitionOf(identity, range, fields, nextRevision(current, stamp));
  const wasForLoadBalancers = current.allowedUses.includes("LoadBalancer");
  if (wasForLoadBalancers && !next.allowedUses.includes("LoadBalancer")) {
    return err(immutable(current, "allowedUses"));
  }
  return ok(next);
}

function isSame(one: PoolDefinition, other: PoolDefinition): boolean {
  const inOrder = (pool: PoolDefinition): string =>
    JSON.stringify(Object.entries(pool).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return inOrder(one) === inOrder(other);
}
