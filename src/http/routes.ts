/**
 * The ordered list of operations: what is listed here is served and documented, nothing else.
 * May import: the operations. Who may call each stands in authorization.ts.
 */
import { acknowledgeBreaker } from "./routes/acknowledge-breaker.ts";
import { allocate } from "./routes/allocate.ts";
import { allocateBatch } from "./routes/allocate-batch.ts";
import { assignAddress } from "./routes/assign-address.ts";
import { changeOwner } from "./routes/change-owner.ts";
import { claimAffinities } from "./routes/claim-affinities.ts";
import { collectAttachments } from "./routes/collect-attachments.ts";
import { deleteReservation } from "./routes/delete-reservation.ts";
import { drainPool } from "./routes/drain-pool.ts";
import { ensureBlocks } from "./routes/ensure-blocks.ts";
import { explainAllocation } from "./routes/explain-allocation.ts";
import { getAddress } from "./routes/get-address.ts";
import { getAllocation } from "./routes/get-allocation.ts";
import { getBlock } from "./routes/get-block.ts";
import { getCheck } from "./routes/get-check.ts";
import { getConfig } from "./routes/get-config.ts";
import { getGc } from "./routes/get-gc.ts";
import { getHandle } from "./routes/get-handle.ts";
import { getHealth } from "./routes/get-health.ts";
import { getHost } from "./routes/get-host.ts";
import { getHostReadiness } from "./routes/get-host-readiness.ts";
import { getPool } from "./routes/get-pool.ts";
import { getReady } from "./routes/get-ready.ts";
import { getReservation } from "./routes/get-reservation.ts";
import { getStatus } from "./routes/get-status.ts";
import { getUtilization } from "./routes/get-utilization.ts";
import { listAllocations } from "./routes/list-allocations.ts";
import { listBlocks } from "./routes/list-blocks.ts";
import { listEvents } from "./routes/list-events.ts";
import { listHosts } from "./routes/list-hosts.ts";
import { listLeaks } from "./routes/list-leaks.ts";
import { listPools } from "./routes/list-pools.ts";
import { listReservations } from "./routes/list-reservations.ts";
import { listRoutes } from "./routes/list-routes.ts";
import { putHost } from "./routes/put-host.ts";
import { putPool } from "./routes/put-pool.ts";
import { putReservation } from "./routes/put-reservation.ts";
import { release } from "./routes/release.ts";
import { releaseAddress } from "./routes/release-address.ts";
import { releaseAffinities } from "./routes/release-affinities.ts";
import { releaseHandle } from "./routes/release-handle.ts";
import { removeHost } from "./routes/remove-host.ts";
import { reportWorkloads } from "./routes/report-workloads.ts";
import { splitPool } from "./routes/split-pool.ts";
import { startCheck } from "./routes/start-check.ts";
import { startSweep } from "./routes/start-sweep.ts";
import { updateConfig } from "./routes/update-config.ts";
import { updateGc } from "./routes/update-gc.ts";
import { updateOwners } from "./routes/update-owners.ts";
import { updatePool } from "./routes/update-pool.ts";
import { whoAmI } from "./routes/who-am-i.ts";

export const OPERATIONS = [
  getHealth,
  getReady,
  getStatus,
  whoAmI,
  getConfig,
  updateConfig,
  listPools,
  getPool,
  putPool,
  updatePool,
  drainPool,
  splitPool,
  getUtilization,
  listReservations,
  getReservation,
  putReservation,
  deleteReservation,
  listHosts,
  getHost,
  putHost,
  removeHost,
  getHostReadiness,
  ensureBlocks,
  reportWorkloads,
  collectAttachments,
  allocate,
  allocateBatch,
  explainAllocation,
  listAllocations,
  getAllocation,
  assignAddress,
  releaseAddress,
  updateOwners,
  changeOwner,
  release,
  getHandle,
  releaseHandle,
  getAddress,
  listBlocks,
  getBlock,
  claimAffinities,
  releaseAffinities,
  listRoutes,
  getGc,
  updateGc,
  startSweep,
  acknowledgeBreaker,
  listLeaks,
  listEvents,
  startCheck,
  getCheck,
] as const;

export type OperationId = (typeof OPERATIONS)[number]["id"];
