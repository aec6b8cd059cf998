/**
 * Every bound that a caller or an operator can meet, with its unit and its reason.
 * May import: nothing. A bound is stated here once; schemas, objects and texts read it from here.
 */

/** Largest whole number that survives JSON in every client language. */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

/** Bytes of a request body; one full release request fits several times. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** Bytes of a workload report: 4,096 workloads with their addresses. */
export const WORKLOADS_BODY_BYTES_MAX = 4 * 1024 * 1024;

/** Characters of an address: eight groups with a dotted IPv4 tail. */
export const ADDRESS_TEXT_MAX = 45;
/** Characters of a CIDR: the longest address and `/128`. */
export const CIDR_TEXT_MAX = 49;
/** Characters of a handle, a host name or a pod name, as for a Kubernetes object. */
export const HANDLE_TEXT_MAX = 253;
export const HOST_NAME_TEXT_MAX = 253;
export const POD_NAME_TEXT_MAX = 253;
/** Characters of a pool, reservation or namespace name: one DNS label's worth. */
export const NAME_TEXT_MAX = 63;
/** Characters of a label value, as in Kubernetes. */
export const LABEL_VALUE_TEXT_MAX = 63;
/** Characters of a selector. It also bounds how deep brackets nest. */
export const SELECTOR_TEXT_MAX = 1024;
/** Characters of a label key: a DNS prefix, a slash and a name, with room. */
export const LABEL_KEY_TEXT_MAX = 512;
/** Characters of free text: reasons, notes, descriptions. */
export const FREE_TEXT_MAX = 256;
/** Characters of one attribute value; a row with 32 of them stays small. */
export const ATTRIBUTE_VALUE_TEXT_MAX = 1024;
/** Characters of an idempotency key; visible ASCII. */
export const IDEMPOTENCY_KEY_TEXT_MIN = 8;
export const IDEMPOTENCY_KEY_TEXT_MAX = 128;
/** Characters of a caller's own request id. */
export const REQUEST_ID_TEXT_MAX = 128;
/** Characters of an agent's incarnation and of a workload's or service's uid: opaque ids. */
export const INCARNATION_TEXT_MAX = 64;
export const UID_TEXT_MAX = 64;
/** Characters of a CNI network's name. */
export const NETWORK_NAME_TEXT_MAX = 128;
/** Characters of a service's type, as in `LoadBalancer`. */
export const SERVICE_TYPE_TEXT_MAX = 32;

/** How names look. The pattern of a host allows an owner that is no host (`virtual:<name>`). */
export const HANDLE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@-]*$/;
export const HOST_NAME_PATTERN = /^(virtual:)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
export const NAME_PATTERN = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
export const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,128}$/;

/** Addresses of one family in one request: four blocks of the default size. */
export const ADDRESSES_PER_REQUEST_MAX = 256;
/** Addresses that one handle may hold in one family, where a request sets a limit. */
export const PER_HANDLE_MAX = 256;
/** Pools that a request or a tunnel may list. */
export const REQUESTED_POOLS_MAX = 32;
/** Addresses set aside at the start, and at the end, of a block for the host. */
export const HOST_RESERVED_MAX = 16;
/** Attributes of one owner, labels of a namespace, labels of a host: entries. */
export const ATTRIBUTES_MAX = 32;
export const NAMESPACE_LABELS_MAX = 64;
export const HOST_LABELS_MAX = 128;
/** Items of one batch of allocations. */
export const BATCH_ITEMS_MAX = 256;
/** Handles and addresses of one release: what fits the calls of one invocation. */
export const RELEASE_HANDLES_MAX = 64;
export const RELEASE_ADDRESSES_MAX = 1024;
/** Workloads of a report, handles of an attachment collection, addresses of one workload. */
export const WORKLOADS_MAX = 4096;
export const VALID_HANDLES_MAX = 4096;
export const ADDRESSES_PER_WORKLOAD_MAX = 64;
/** Tunnels of a host: one per kind. */
export const TUNNELS_MAX = 5;
/** Ranges of one reservation. */
export const RESERVED_CIDRS_MAX = 256;
/** Pools, and reservations, of a deployment: all of them together cross one object call of 32 MiB. */
export const POOLS_MAX = 2048;
export const RESERVATIONS_MAX = 1024;
/** Parts of a pool split. */
export const SPLIT_PARTS_MIN = 2;
export const SPLIT_PARTS_MAX = 1024;
/** Blocks that one affinity claim or release may cover. */
export const AFFINITY_BLOCKS_MAX = 256;
/** What was considered, listed in a refusal and in an explanation; the rest is counted. */
export const CONSIDERED_REFUSAL_MAX = 64;
export const CONSIDERED_EXPLANATION_MAX = 256;

/** Events that are kept of refusals, and of all else, however old: a day and more of a quiet deployment. */
export const EVENTS_KEPT_MIN = 10_000;

/** Characters of the name of a check. */
export const CHECK_ID_TEXT_MAX = 64;

/** Characters of the filters of events: the sets of types, codes and severities may grow. */
export const EVENT_TYPE_TEXT_MAX = 32;
export const CODE_TEXT_MAX = 64;
export const SEVERITY_TEXT_MAX = 16;

/** Items of a page. */
export const PAGE_SIZE_DEFAULT = 100;
export const PAGE_SIZE_MAX = 1000;
/** Seconds for which a list of routes waits for a change. */
export const ROUTES_WAIT_SECONDS_MAX = 25;
/** Minutes for which a cursor stays valid, at least. */
export const CURSOR_VALID_MINUTES_MIN = 15;

/** Prefix lengths of blocks: 4,096 addresses to one, in either family. */
export const BLOCK_SIZE_MIN = { 4: 20, 6: 116 } as const;
export const BLOCK_SIZE_MAX = { 4: 32, 6: 128 } as const;
/** Prefix length of a block where the pool does not say: 64 addresses. */
export const BLOCK_SIZE_DEFAULT = { 4: 26, 6: 122 } as const;
/** Kinds of use that a pool may list. */
export const ALLOWED_USES_MAX = 3;
/** Percent of use at which a pool warns. */
export const WARN_AT_PERCENT_MIN = 1;
export const WARN_AT_PERCENT_MAX = 100;
export const WARN_AT_PERCENT_DEFAULT = 90;

/** Seconds for which a released address is not given out again. */
export const COOLDOWN_SECONDS_MAX = 1200;
/** Blocks of one family per host, as far as an operator may raise it. */
export const BLOCKS_PER_HOST_MAX = 1_000_000;
/** Blocks of one family per host where nobody set a cap: keeps a mistake from draining a pool. */
export const BLOCKS_PER_HOST_BUILT_IN = 20;
/** Blocks that a host which expects many pods may claim at once. */
export const BLOCKS_PER_CLAIM_MAX = 4;
/** Seconds since its claim before an empty block may be taken from its owner. */
export const RECLAIM_AGE_SECONDS = 60;
/** Owners asked to give up an empty block, per request. */
export const RECLAIM_CANDIDATES_MAX = 3;
/** Seconds that lie between two observations of a leak. */
export const LEAK_GRACE_SECONDS_MIN = 60;
export const LEAK_GRACE_SECONDS_MAX = 86_400;
/** Seconds after which a host's report is stale. */
export const STALE_REPORT_SECONDS_MIN = 30;
export const STALE_REPORT_SECONDS_MAX = 86_400;
/** Milliseconds that a report's age may be. */
export const REPORT_AGE_MS_MAX = 600_000;

/** Milliseconds that a caller may give a request. */
export const REQUEST_TIMEOUT_MS_MIN = 1;
export const REQUEST_TIMEOUT_MS_MAX = 120_000;
/** Milliseconds for which a message that creates something may act, at most. */
export const UNTIL_AHEAD_MS_MAX = 2_000;
/** Minutes for which a spent key is remembered, at least. */
export const SPENT_KEY_MINUTES_MIN = 10;
/**
 * Seconds a caller waits when an earlier attempt is not settled.
 * Why: its messages act for 2 s by clocks that may be 1 s ahead of one and behind another.
 */
export const IN_PROGRESS_RETRY_AFTER_SECONDS = 4;
