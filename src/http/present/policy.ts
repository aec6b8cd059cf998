/**
 * Writes configuration, pools and reservations as answers.
 * May import: core, rpc and http.
 */
import { LEAK_GRACE_SECONDS_DEFAULT, STALE_REPORT_SECONDS_DEFAULT } from "../../core/leak-policy.ts";
import { BLOCKS_PER_HOST_BUILT_IN } from "../../core/limits.ts";
import type { Config, PoolDefinition, ReservationDefinition } from "../../core/policy.ts";
import type { PoolUsageView } from "../../rpc/pool.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes the configuration, with what is in force where nobody has set it; the cap in force stands beside its own. */
export function configOnWire(config: Config): Wire["Config"] {
  const { updatedAt, maxBlocksPerHost, ...rest } = config;
  return {
    ...rest,
    maxBlocksPerHost,
    effectiveMaxBlocksPerHost: maxBlocksPerHost === 0 ? BLOCKS_PER_HOST_BUILT_IN : maxBlocksPerHost,
    leakGraceSeconds: config.leakGraceSeconds ?? LEAK_GRACE_SECONDS_DEFAULT,
    staleReportSeconds: config.staleReportSeconds ?? STALE_REPORT_SECONDS_DEFAULT,
    updatedAt: timeText(updatedAt),
  };
}

/** Writes a pool with its figures. */
export function poolOnWire(pool: PoolDefinition, usage: PoolUsageView): Wire["Pool"] {
  const { incarnation: _internal, terminating, allowedUses, createdAt, updatedAt, ...rest } = pool;
  const state = terminating !== undefined ? "draining" : pool.disabled ? "disabled" : "active";
  return {
    ...rest,
    allowedUses: [...allowedUses],
    state,
    ...(terminating === undefined ? {} : { drain: drainOnWire(terminating.startedAt, usage) }),
    usage: usageOnWire(pool, usage),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  };
}

function drainOnWire(startedAt: number, usage: PoolUsageView): Wire["Drain"] {
  return {
    startedAt: timeText(startedAt),
    allocated: Number(usage.allocated),
    cooling: Number(usage.cooling),
    blocks: usage.blocks,
    ...(usage.lastFreeAt === undefined ? {} : { lastFreeAt: timeText(usage.lastFreeAt) }),
  };
}

/** Writes the figures of a pool. */
export function usageOnWire(pool: PoolDefinition, usage: PoolUsageView): Wire["PoolUsage"] {
  const { nextFreeAt, lastFreeAt: _ofDrains, asOf, ...figures } = usage;
  return {
    pool: pool.name,
    cidr: pool.cidr,
    family: pool.family,
    ...figures,
    ...(nextFreeAt === undefined ? {} : { nextFreeAt: timeText(nextFreeAt) }),
    asOf: timeText(asOf),
  };
}

/** Writes a reservation with the number of addresses that were allocated before it. */
export function reservationOnWire(
  reservation: ReservationDefinition,
  addressesAllocatedInside: number,
): Wire["Reservation"] {
  const { reservedCIDRs, createdAt, updatedAt, ...rest } = reservation;
  return {
    ...rest,
    reservedCIDRs: [...reservedCIDRs],
    addressesAllocatedInside,
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  };
}
