/**
 * The service's operations as functions; grows with what its users (cni, cli) call.
 * May import: core, client. Every outcome that a caller can meet is a value.
 */
import type { Result } from "../core/result.ts";
import {
  decodeAllocationList,
  decodeAllocationResult,
  decodeAttachmentGcResult,
  decodeHostReadiness,
  decodeReleaseResult,
} from "./decode.ts";
import { type CallFailure, type Connection, exchange } from "./transport.ts";
import type {
  AllocationList,
  AllocationRequest,
  AllocationResult,
  AttachmentGcRequest,
  AttachmentGcResult,
  HostReadiness,
  ReleaseRequest,
  ReleaseResult,
} from "./wire.ts";

export interface ClientOptions {
  /** http or https URL of the service; a path is kept as prefix. */
  server: string;
  token?: string;
  /** Unit: milliseconds, 1..120000. */
  timeoutMs: number;
  /** Only tests replace it. */
  fetch?: typeof fetch;
}

export interface Client {
  /**
   * Allocates what is asked for in all families, or nothing.
   *
   * Shape: POST /v1/allocations. The same key and body give the same addresses while they are held.
   */
  allocate(
    request: AllocationRequest,
    idempotencyKey: string,
  ): Promise<Result<AllocationResult, CallFailure>>;
  /** Releases by handle or guarded address; what is already free is no failure (POST /v1/releases). */
  release(request: ReleaseRequest): Promise<Result<ReleaseResult, CallFailure>>;
  /** Lists what a handle holds (GET /v1/handles/{handle}). */
  getHandle(handle: string): Promise<Result<AllocationList, CallFailure>>;
  /** Says per family whether a host could be served now (GET /v1/hosts/{host}/readiness). */
  getHostReadiness(host: string): Promise<Result<HostReadiness, CallFailure>>;
  /** Tells which handles of a network are valid on a host (POST /v1/hosts/{host}/attachment-gc). */
  collectAttachments(
    host: string,
    request: AttachmentGcRequest,
  ): Promise<Result<AttachmentGcResult, CallFailure>>;
}

/** Binds the operations to one service. */
export function createClient(options: ClientOptions): Client {
  const connection: Connection = {
    server: options.server.replace(/\/+$/, ""),
    timeoutMs: options.timeoutMs,
    fetch: options.fetch ?? fetch,
    ...(options.token === undefined ? {} : { token: options.token }),
  };
  return {
    allocate: (body, idempotencyKey) =>
      exchange(
        connection,
        { method: "POST", path: "/v1/allocations", body, idempotencyKey },
        decodeAllocationResult,
      ),
    release: (body) =>
      exchange(connection, { method: "POST", path: "/v1/releases", body }, decodeReleaseResult),
    getHandle: (handle) =>
      exchange(
        connection,
        { method: "GET", path: `/v1/handles/${encodeURIComponent(handle)}` },
        decodeAllocationList,
      ),
    getHostReadiness: (host) =>
      exchange(
        connection,
        { method: "GET", path: `/v1/hosts/${encodeURIComponent(host)}/readiness` },
        decodeHostReadiness,
      ),
    collectAttachments: (host, body) =>
      exchange(
        connection,
        { method: "POST", path: `/v1/hosts/${encodeURIComponent(host)}/attachment-gc`, body },
        decodeAttachmentGcResult,
      ),
  };
}
