/**
 * Who may call each operation: one row per operation, beside the list of routes.
 * May import: core and http types. An operation without a row does not compile.
 */
import { type Rejection, rejection } from "../core/errors.ts";
import type { Principal } from "./auth.ts";
import type { OperationId } from "./routes.ts";

/** Where the host stands that an agent must be bound to. */
export type AgentBinding =
  | "path"
  | "query"
  | "body"
  /** The operation itself keeps to what is the agent's: it passes the host on to the block. */
  | "reach";

/** Who may call: administrators may call all of them. */
export type Access =
  | "open"
  | "authenticated"
  | "reader"
  | "admin"
  | { readonly agent: AgentBinding; readonly reader: boolean };

export const ACCESS: Record<OperationId, Access> = {
  getHealth: "open",
  getReady: "open",
  getStatus: "reader",
  whoAmI: "authenticated",
  getConfig: "reader",
  updateConfig: "admin",
  listPools: "reader",
  getPool: "reader",
  putPool: "admin",
  updatePool: "admin",
  drainPool: "admin",
  splitPool: "admin",
  getUtilization: "reader",
  listReservations: "reader",
  getReservation: "reader",
  putReservation: "admin",
  deleteReservation: "admin",
  listHosts: "reader",
  getHost: { agent: "path", reader: true },
  getHostReadiness: { agent: "path", reader: false },
  ensureBlocks: { agent: "path", reader: false },
  removeHost: "admin",
  putHost: { agent: "path", reader: false },
  reportWorkloads: { agent: "path", reader: false },
  collectAttachments: { agent: "path", reader: false },
  allocate: { agent: "body", reader: false },
  allocateBatch: { agent: "body", reader: false },
  explainAllocation: { agent: "body", reader: false },
  listAllocations: { agent: "query", reader: true },
  getAllocation: { agent: "reach", reader: true },
  assignAddress: { agent: "body", reader: false },
  releaseAddress: { agent: "reach", reader: false },
  updateOwners: { agent: "reach", reader: false },
  changeOwner: { agent: "reach", reader: false },
  release: { agent: "reach", reader: false },
  getHandle: { agent: "reach", reader: false },
  releaseHandle: { agent: "reach", reader: false },
  getAddress: "reader",
  listBlocks: "reader",
  getBlock: "reader",
  claimAffinities: "admin",
  releaseAffinities: "admin",
  getGc: "reader",
  updateGc: "admin",
  startSweep: "admin",
  acknowledgeBreaker: "admin",
  listLeaks: "reader",
  listRoutes: "reader",
  listEvents: "reader",
  startCheck: "admin",
  getCheck: "reader",
};

/** Checks the role alone, before anything of the request is read. */
export function checkRole(access: Access, principal: Principal): Rejection<"role_insufficient"> | undefined {
  if (access === "open" || access === "authenticated" || principal.role === "admin") return undefined;
  const { role } = principal;
  if (access === "admin" || access === "reader") {
    return access === role ? undefined : rejection("role_insufficient", { role, requiredRole: access });
  }
  if (role === "agent" || access.reader) return undefined;
  return rejection("role_insufficient", { role, requiredRole: "agent" });
}

/** Checks that an agent acts for its own host; what it names is not looked at, so nothing is told of it. */
export function checkHost(
  access: Access,
  principal: Principal,
  input: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
): Rejection<"host_mismatch"> | undefined {
  if (typeof access === "string" || principal.role !== "agent" || access.agent === "reach") return undefined;
  const part = { path: input.params, query: input.query, body: input.body }[access.agent];
  const named = (part as { host?: string } | undefined)?.host;
  const host = principal.host ?? "";
  return named === host ? undefined : rejection("host_mismatch", { host });
}
