/**
 * Every reason for which a request can be refused, with the facts that prove it.
 * May import: core only. No text is made here: titles and hints live at the edge.
 */

/** An address family, by IP version. */
export type Family = 4 | 6;

/** One rule that a pool, a block or a host met while an allocation was placed. */
export interface Considered {
  kind: "host" | "pool" | "block";
  outcome: "used" | "skipped" | "full" | "refused";
  rule: ConsideredRule;
  pool?: string;
  block?: string;
  owner?: string;
  /** Machine-made detail, e.g. the selector and the label that is missing. */
  detail?: string;
  allocated?: number;
  free?: number;
  cooling?: number;
  reserved?: number;
  /** Milliseconds since 1970. */
  nextFreeAt?: number;
}

export type ConsideredRule =
  | "ok"
  | "pool_disabled"
  | "pool_draining"
  | "wrong_family"
  | "manual_only"
  | "not_requested"
  | "node_selector"
  | "namespace_selector"
  | "use_not_allowed"
  | "block_too_small"
  | "full"
  | "cooling"
  | "reserved"
  | "owned_by_other"
  | "cap_reached"
  | "auto_allocate_off"
  | "strict_affinity"
  | "reclaim_too_young"
  | "no_unclaimed_block";

/** What one family lacked. */
export interface Shortfall {
  family: Family;
  requested: number;
  allocated: number;
  code: Code;
  retryAfterSeconds?: number;
  considered: Considered[];
  consideredOmitted: number;
}

/** One fault of one field or parameter of a request. */
export interface FieldFault {
  /** JSON pointer into the body. */
  pointer?: string;
  /** Name of a path or query parameter. */
  parameter?: string;
  code: FieldFaultCode;
  message: string;
  limit?: number;
}

export type FieldFaultCode =
  | "unknown_field"
  | "unknown_parameter"
  | "required"
  | "null_not_allowed"
  | "wrong_type"
  | "out_of_range"
  | "too_long"
  | "too_many"
  | "pattern"
  | "invalid_address"
  | "invalid_cidr"
  | "host_bits_set"
  | "wrong_family"
  | "block_size"
  | "invalid_selector"
  | "host_reservation"
  | "nothing_requested"
  | "conflicting_fields"
  | "invalid_cursor"
  | "attribute_conflict";

interface AllocationShortage {
  host: string;
  family: Family;
  requested: number;
  allocated: number;
  owned?: number;
  limit?: number;
  /** Milliseconds since 1970. */
  freeAt?: number;
  pool?: string;
  shortfall: Shortfall[];
}

/** What each code proves itself with. Times are milliseconds since 1970; they become text at the edge. */
export interface EvidenceByCode {
  invalid_request: { errors: FieldFault[] };
  malformed_json: Record<never, never>;
  guard_required: { address: string };
  range_too_large: { limit: number };
  not_authenticated: Record<never, never>;
  token_invalid: Record<never, never>;
  token_expired: Record<never, never>;
  role_insufficient: { role: string; requiredRole: string };
  host_mismatch: { host: string };
  route_not_found: Record<never, never>;
  method_not_allowed: Record<never, never>;
  pool_not_found: { pool: string };
  reservation_not_found: { field: string };
  host_not_found: { host: string };
  block_not_found: { block: string };
  check_not_found: { field: string };
  load_balancer_not_found: { field: string };
  address_not_allocated: { address: string; state: string; freeAt?: number };
  host_unknown: { host: string };
  host_removing: { host: string };
  requested_pool_unavailable: AllocationShortage;
  no_qualified_pool: AllocationShortage;
  no_pool_selects_host: AllocationShortage;
  handle_limit_reached: { handle: string; limit: number; allocated: number; family?: Family };
  block_limit_reached: AllocationShortage;
  auto_allocate_disabled: AllocationShortage;
  strict_affinity: AllocationShortage;
  pool_cooling: AllocationShortage;
  pool_exhausted: AllocationShortage;
  idempotency_key_released: { handle: string };
  address_taken: { address: string; state: string; handle?: string; host?: string };
  address_cooling: { address: string; freeAt: number };
  address_not_in_pool: { address: string; pool?: string };
  use_not_allowed: { pool: string; address?: string };
  address_outside_affinity: { address: string; block: string; host?: string };
  sequence_mismatch: { address: string; sequenceNumber: number };
  handle_mismatch: { address: string; sequenceNumber: number };
  owner_mismatch: { address: string };
  handle_not_allocated: { handle: string };
  alternate_owner_empty: { handle: string };
  alternate_owner_mismatch: { handle: string };
  block_not_empty: { block: string; allocated: number };
  block_owned_by_other: { block: string; host: string };
  cidr_not_in_pool: { block: string };
  pool_overlap: { pool: string; otherPool: string; cidr: string; otherCidr: string };
  pool_field_immutable: { pool: string; field: string };
  pool_draining: { pool: string };
  config_conflict: { field: string };
  incarnation_conflict: { host: string };
  report_out_of_order: { host: string; sequenceNumber: number };
  check_running: { field: string };
  /** `openedAt`: when the one opened that is open; absent: none is. `given`: the time that was named. */
  breaker_not_open: { field: string; openedAt?: number; given?: number };
  revision_mismatch: { revision: number };
  already_exists: { revision: number };
  body_too_large: { limit: number };
  unsupported_media_type: Record<never, never>;
  idempotency_key_reused: { handle: string };
  rate_limited: { limit: number };
  internal_error: Record<never, never>;
  overloaded: { where: "host" | "block" | "index" | "pool" | "cluster" | "platform" };
  in_progress: { host?: string; handle?: string };
  outcome_unknown: { host?: string; handle?: string; address?: string };
  policy_unavailable: Record<never, never>;
  deadline_exceeded: Record<never, never>;
  storage_unavailable: Record<never, never>;
  maintenance: { reason?: string };
  not_ready: { check: string };
  auth_not_configured: Record<never, never>;
}

export type Code = keyof EvidenceByCode;

/** A refusal: a code, the facts that prove it, and when it may end by itself. */
export type Rejection<C extends Code = Code> = {
  [K in C]: {
    readonly code: K;
    readonly evidence: EvidenceByCode[K];
    /** Seconds after which the same request may succeed, where a time is known. */
    readonly retryAfterSeconds?: number;
  };
}[C];

/** Makes a refusal. */
export function rejection<C extends Code>(
  code: C,
  evidence: EvidenceByCode[C],
  retryAfterSeconds?: number,
): Rejection<C> {
  const made = retryAfterSeconds === undefined ? { code, evidence } : { code, evidence, retryAfterSeconds };
  return made as Rejection<C>;
}
