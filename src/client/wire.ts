/**
 * What the service says and is told, as far as the callers in this repository need it (HTTP contract, v1).
 * May import: nothing. Enumerations in answers are open: a value nobody knows is passed on, never an error.
 */

/** How many addresses of one family are asked for, and from which pools (names or exact CIDRs). */
export interface FamilyRequest {
  count: number;
  pools?: string[];
}

/** Body of POST /v1/allocations. An absent family asks for nothing. */
export interface AllocationRequest {
  host: string;
  handle: string;
  ipv4?: FamilyRequest;
  ipv6?: FamilyRequest;
  attributes?: Record<string, string>;
  namespace?: { name: string; labels?: Record<string, string> };
}

/** One address that is held. */
export interface Allocation {
  address: string;
  /** The address with the prefix length that the pool answers with. */
  interfaceAddress: string;
  family: 4 | 6;
  pool: string;
  block: string;
  host: string;
  handle?: string;
  state: string;
  attributes: Record<string, string>;
  sequenceNumber: number;
  allocatedAt: string;
  gateway?: string;
}

/** Answer of POST /v1/allocations. */
export interface AllocationResult {
  allocations: Allocation[];
  replayed: boolean;
  reused: boolean;
}

/** Answer of GET /v1/handles/{handle}; a handle nobody knows has no items. */
export interface AllocationList {
  items: Allocation[];
  nextCursor?: string;
}

/** Whether one family of a host could be served now. */
export interface FamilyReadiness {
  /** A pool of this family selects the host. */
  wanted: boolean;
  ready: boolean;
  code?: string;
  hint?: string;
}

/** Answer of GET /v1/hosts/{host}/readiness, also where nothing is ready. */
export interface HostReadiness {
  host: string;
  ready: boolean;
  ipv4: FamilyReadiness;
  ipv6: FamilyReadiness;
}

/** Body of POST /v1/releases. */
export interface ReleaseRequest {
  /** At most 64. */
  handles?: string[];
  /** At most 1024, each guarded by its handle or sequence number. */
  addresses?: { address: string; handle?: string; sequenceNumber?: number }[];
}

/** What became of one address of a release. */
export interface ReleaseOutcome {
  address: string;
  handle?: string;
  outcome: string;
  code?: string;
}

/** Answer of POST /v1/releases. */
export interface ReleaseResult {
  released: number;
  alreadyFree: number;
  rejected: number;
  results: ReleaseOutcome[];
}

/** Body of POST /v1/hosts/{host}/attachment-gc. */
export interface AttachmentGcRequest {
  network: string;
  /** All of them, at most 4096: a handle of the network that is left out counts as gone. */
  validHandles: string[];
}

/** What became of one handle that was left out. */
export interface GcOutcome {
  handle: string;
  outcome: string;
  reason?: string;
}

/** Answer of POST /v1/hosts/{host}/attachment-gc. */
export interface AttachmentGcResult {
  released: number;
  held: number;
  results: GcOutcome[];
}

/** Body of every refusal (application/problem+json). */
export interface Problem {
  title: string;
  status: number;
  code: string;
  detail: string;
  requestId: string;
  retry: string;
  retryAfterSeconds?: number;
  hint?: string;
  errors?: { pointer?: string; parameter?: string; code: string; message: string }[];
}
