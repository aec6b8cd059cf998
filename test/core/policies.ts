/** Policies for tests, from the few fields that a test cares about. */
import { type ConfigPatch, changeConfig, defaultConfig } from "../../src/core/config.ts";
import {
  type CompiledPolicy,
  compilePolicy,
  type Policy,
  type PoolDefinition,
} from "../../src/core/policy.ts";
import { definePool, type PoolSpec } from "../../src/core/pool.ts";
import { defineReservation } from "../../src/core/reservation.ts";
import type { Result } from "../../src/core/result.ts";

const NOW = 1_000;

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

export interface PolicySpec {
  pools?: Record<string, PoolSpec & { terminating?: boolean }>;
  reservedCIDRs?: string[];
  config?: ConfigPatch;
}

/** Makes a policy through the same functions that the service uses. */
export function policyOf({ pools = {}, reservedCIDRs, config = {} }: PolicySpec): Policy {
  const definitions: PoolDefinition[] = [];
  for (const [name, { terminating, ...spec }] of Object.entries(pools)) {
    const pool = must(definePool(name, spec, definitions, { now: NOW, incarnation: definitions.length }));
    definitions.push(terminating === true ? { ...pool, terminating: { startedAt: NOW } } : pool);
  }
  const reservations =
    reservedCIDRs === undefined ? [] : [must(defineReservation("r", { reservedCIDRs }, { now: NOW }))];
  const stored = must(changeConfig(defaultConfig(NOW), config, { now: NOW }));
  return { version: 1, config: stored, pools: definitions, reservations };
}

export function compiled(spec: PolicySpec): CompiledPolicy {
  return compilePolicy(policyOf(spec));
}
