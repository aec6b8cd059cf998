/**
 * Which CNI error number stands for which refusal of the service.
 * May import: core. A new code of the service does not compile until it has a number here.
 */

import type { Code } from "../core/errors.ts";

/** Numbers of the CNI specification, and those of ours that no refusal of the service stands for. */
export const CNI = {
  incompatibleVersion: 1,
  invalidEnvironment: 4,
  /** stdin, or a file that the configuration names. */
  unreadable: 5,
  undecodable: 6,
  invalidConfiguration: 7,
  tryAgainLater: 11,
  notAvailable: 50,
  credentials: 110,
  /** A refusal that ADD and DEL should not meet, or one of a newer service. */
  otherRefusal: 120,
  /** The plugin contradicts itself. */
  defect: 999,
} as const;

const NUMBERS: Record<Code, number> = {
  invalid_request: CNI.invalidConfiguration,
  malformed_json: CNI.invalidConfiguration,
  guard_required: CNI.invalidConfiguration,
  range_too_large: CNI.otherRefusal,
  not_authenticated: CNI.credentials,
  token_invalid: CNI.credentials,
  token_expired: CNI.credentials,
  role_insufficient: CNI.credentials,
  host_mismatch: CNI.credentials,
  route_not_found: CNI.otherRefusal,
  method_not_allowed: CNI.otherRefusal,
  pool_not_found: CNI.otherRefusal,
  reservation_not_found: CNI.otherRefusal,
  host_not_found: CNI.otherRefusal,
  block_not_found: CNI.otherRefusal,
  check_not_found: CNI.otherRefusal,
  load_balancer_not_found: CNI.otherRefusal,
  address_not_allocated: 119,
  host_unknown: 113,
  host_removing: 113,
  requested_pool_unavailable: 101,
  no_qualified_pool: 112,
  no_pool_selects_host: 111,
  handle_limit_reached: 105,
  block_limit_reached: 107,
  auto_allocate_disabled: 114,
  strict_affinity: 106,
  pool_cooling: CNI.tryAgainLater,
  pool_exhausted: 100,
  idempotency_key_released: 117,
  address_taken: 102,
  address_cooling: 116,
  address_not_in_pool: 103,
  use_not_allowed: 104,
  address_outside_affinity: 115,
  sequence_mismatch: 118,
  handle_mismatch: 118,
  owner_mismatch: 109,
  handle_not_allocated: 109,
  alternate_owner_empty: 109,
  alternate_owner_mismatch: 109,
  block_not_empty: CNI.otherRefusal,
  block_owned_by_other: CNI.otherRefusal,
  cidr_not_in_pool: CNI.otherRefusal,
  pool_overlap: CNI.otherRefusal,
  pool_field_immutable: CNI.otherRefusal,
  pool_draining: CNI.otherRefusal,
  config_conflict: CNI.otherRefusal,
  incarnation_conflict: CNI.otherRefusal,
  report_out_of_order: CNI.otherRefusal,
  check_running: CNI.otherRefusal,
  breaker_not_open: CNI.otherRefusal,
  revision_mismatch: CNI.otherRefusal,
  already_exists: CNI.otherRefusal,
  body_too_large: CNI.invalidConfiguration,
  unsupported_media_type: CNI.invalidConfiguration,
  idempotency_key_reused: 117,
  rate_limited: CNI.tryAgainLater,
  internal_error: CNI.tryAgainLater,
  overloaded: CNI.tryAgainLater,
  in_progress: CNI.tryAgainLater,
  outcome_unknown: CNI.tryAgainLater,
  policy_unavailable: CNI.tryAgainLater,
  deadline_exceeded: CNI.tryAgainLater,
  storage_unavailable: CNI.tryAgainLater,
  maintenance: CNI.tryAgainLater,
  not_ready: CNI.notAvailable,
  auth_not_configured: CNI.notAvailable,
};

/** Finds the number of a refusal; a code of a newer service is judged by its status and `retry`. */
export function cniNumberOf(code: string, status: number, retry: string): number {
  if (Object.hasOwn(NUMBERS, code)) return NUMBERS[code as Code];
  if (status === 401 || status === 403) return CNI.credentials;
  if (status === 429 || status >= 500) return CNI.tryAgainLater;
  if (retry === "later" || retry === "same_request") return CNI.tryAgainLater;
  return CNI.otherRefusal;
}
