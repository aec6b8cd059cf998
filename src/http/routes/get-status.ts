/** getStatus: what an operator reads first: warnings with a next step, figures, hosts, the collector. */
import type { GcView } from "../../rpc/leaks.ts";
import { mapBounded } from "../concurrency.ts";
import { operation, reply } from "../operation.ts";
import { gcOnWire } from "../present/gc.ts";
import { configOnWire, usageOnWire } from "../present/policy.ts";
import { timeText } from "../problems/row.ts";
import { leaseSoon } from "../reading/lease.ts";
import { storedPolicy } from "../reading/policy.ts";
import { usageOfPool } from "../reading/pool-usage.ts";
import { warningsOf } from "../reading/warnings.ts";
import { components, type Wire } from "../schemas/components.ts";
import { API_VERSION, SERVER_VERSION } from "../version.ts";

/** Pools whose figures are shown. Why: bounds the calls of one request. */
const POOLS_SHOWN_MAX = 256;

/** What this server knows beyond the first version of the contract, by name. */
const CAPABILITIES = [
  "allocation_batches",
  "allocation_explanations",
  "attachment_gc",
  "borrowed_routes",
  "checks",
  "dual_stack",
  "events",
  "exact_utilization",
  "handle_limits",
  "host_readiness",
  "host_removal",
  "idempotency_keys",
  "leak_collection",
  "partial_allocations",
  "pool_drain",
  "pool_split",
  "reservations",
  "route_wait",
  "workload_reports",
];

/** Hosts whose agents have stopped reporting are no less registered; they are told apart as the Sweep met them. */
function hostCounts(active: number, removing: number, gc: GcView): Wire["HostCounts"] {
  const silent = Math.min(active, gc.hostsStale);
  return {
    active: active - silent,
    silent,
    removing,
    reportsStale: gc.hostsStale,
    reportsNever: gc.hostsNeverReported,
  };
}

export const getStatus = operation(
  {
    id: "getStatus",
    method: "get",
    path: "/v1/status",
    tag: "system",
    summary: "The state of the service, with warnings and what to do next",
    answers: { 200: components.Status },
    refusals: [],
    mutates: false,
  },
  async (_input, call) => {
    const [policy, counted, leased, gc] = await Promise.all([
      storedPolicy(call),
      call.ports.cluster().status({}),
      leaseSoon(call),
      call.ports.sweep().getGc({}),
    ]);
    const { deploymentId, hostsActive, hostsRemoving, refusalsLast10Minutes } = counted;
    const sorted = policy.pools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const usages = await mapBounded(sorted.slice(0, POOLS_SHOWN_MAX), async (pool) => ({
      pool,
      usage: await usageOfPool(call, policy, pool),
    }));
    const held = counted.heldRemovals ?? [];
    const isLeased = leased !== undefined;
    const isOpen = call.principal.method === "none";
    return reply(200, {
      ready: isLeased && call.isAuthConfigured,
      apiVersion: API_VERSION,
      serverVersion: SERVER_VERSION,
      deploymentId,
      time: timeText(call.now()),
      capabilities: CAPABILITIES,
      config: configOnWire(policy.config),
      warnings: warningsOf({ policy, usages, hostsActive, isLeased, isOpen, gc, held }),
      pools: usages.map(({ pool, usage }) => usageOnWire(pool, usage)),
      gc: gcOnWire(gc),
      hosts: hostCounts(hostsActive, hostsRemoving, gc),
      refusalsLast10Minutes,
    });
  },
);
