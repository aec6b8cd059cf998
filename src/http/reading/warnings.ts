/**
 * What an operator should look at: one line each, with a next step.
 * May import: core, rpc and http. Rule: a warning is a fact of this answer, not a guess about the future.
 */
import type { Policy, PoolDefinition } from "../../core/policy.ts";
import { poolWarning } from "../../core/pool-warning.ts";
import type { HeldRemoval } from "../../rpc/cluster.ts";
import type { GcView } from "../../rpc/leaks.ts";
import type { PoolUsageView } from "../../rpc/pool.ts";
import { poolWarningText } from "../present/pool-warning.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";
import { gcWarnings } from "./gc-warnings.ts";

type Warning = Wire["Warning"];

/** What warnings are made from. */
export interface Observed {
  readonly policy: Policy;
  /** Pools that were asked, with their figures. */
  readonly usages: readonly { readonly pool: PoolDefinition; readonly usage: PoolUsageView }[];
  readonly hostsActive: number;
  readonly isLeased: boolean;
  /** Nobody is asked who he is. */
  readonly isOpen: boolean;
  readonly gc: GcView;
  /** Hosts that stay `removing` until somebody releases what holds them. */
  readonly held: readonly HeldRemoval[];
}

/** Lists the warnings: the service first, then its configuration, the collector, hosts, pools by name. */
export function warningsOf(observed: Observed): Warning[] {
  const { usages } = observed;
  return [
    ...ofService(observed),
    ...ofConfig(observed),
    ...gcWarnings(observed.gc),
    ...observed.held.map(ofRemoval),
    ...usages.flatMap(ofPool),
  ];
}

function ofService({ isLeased, isOpen }: Observed): Warning[] {
  const warnings: Warning[] = [];
  if (!isLeased) {
    warnings.push({
      code: "policy_unavailable",
      summary: "No policy lease can be had: nothing is allocated.",
      hint: "Look at the disk and at the log of the service.",
    });
  }
  if (isOpen) {
    warnings.push({
      code: "auth_disabled",
      summary: "Anybody who reaches the service may do everything: AUTH_MODE is none.",
      hint: "Keep it on loopback, or set IPAM_TOKENS.",
    });
  }
  return warnings;
}

function ofConfig({ policy, usages, hostsActive }: Observed): Warning[] {
  const { config, pools } = policy;
  const warnings: Warning[] = [];
  if (config.maintenance) {
    const reason = config.maintenanceReason === undefined ? "" : ` (${config.maintenanceReason})`;
    warnings.push({
      code: "maintenance",
      summary: `Nothing is allocated: maintenance is on${reason}.`,
      hint: "Set maintenance to false (PATCH /v1/config).",
    });
  }
  if (!config.autoAllocateBlocks) {
    warnings.push({
      code: "auto_allocate_off",
      summary: "Hosts get no new blocks: a host whose blocks are full is refused.",
      hint: "Set autoAllocateBlocks to true (PATCH /v1/config).",
    });
  }
  if (!pools.some(isServing)) {
    warnings.push({
      code: "no_serving_pool",
      summary: pools.length === 0 ? "There is no pool." : "No pool serves workloads automatically.",
      hint: "Make a pool (PUT /v1/pools/{pool}), or enable one.",
    });
  }
  if (hostsActive === 0) {
    warnings.push({
      code: "no_hosts",
      summary: "No host is registered: every allocation for a host is refused.",
      hint: "Register hosts with PUT /v1/hosts/{host}.",
    });
  }
  if (usages.length < pools.length) {
    warnings.push({
      code: "pools_not_shown",
      summary: `Figures of ${usages.length} of ${pools.length} pools are shown.`,
      hint: "Read the rest at GET /v1/utilization.",
    });
  }
  return warnings;
}

function ofRemoval({ host, kept: { addresses, handles } }: HeldRemoval): Warning {
  const held = addresses === 1 ? "1 address" : `${addresses} addresses`;
  const [first = "", ...others] = handles;
  const named = others.length === 0 ? first : `each of ${handles.join(", ")}`;
  return {
    code: "host_removing_blocked",
    host,
    summary: `Host ${host} stays removing: it holds ${held} that no collector releases.`,
    hint: `DELETE /v1/handles/{handle} for ${named} releases them; GET /v1/allocations?host=${host} lists what is left.`,
  };
}

function ofPool({ pool, usage }: Observed["usages"][number]): Warning[] {
  const code = poolWarning(pool, usage);
  if (code === undefined) return [];
  const { name, warnAtPercent, nodeSelector } = pool;
  const { nextFreeAt } = usage;
  const isFull = code === "pool_full";
  const free =
    isFull && nextFreeAt !== undefined ? ` An address becomes free at ${timeText(nextFreeAt)}.` : "";
  const others = nodeSelector === "all()" ? "the same hosts" : nodeSelector;
  return [
    {
      code,
      pool: name,
      summary: poolWarningText(code, name, { ...usage, warnAtPercent }) + free,
      hint: isFull
        ? `Add a pool for ${others}, or look for leaks.`
        : "Add a pool, look for leaks, or raise warnAtPercent.",
    },
  ];
}

function isServing(pool: PoolDefinition): boolean {
  const isOpen = !pool.disabled && pool.terminating === undefined;
  return isOpen && pool.assignmentMode === "Automatic" && pool.allowedUses.includes("Workload");
}
