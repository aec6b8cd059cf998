/**
 * What bounds a look at a Kubernetes API server. Nothing but numbers.
 * Rule: each bound that is reached makes the look incomplete, never shorter.
 */

/** Units: milliseconds, bytes, counts. */
export interface KubernetesLimits {
  /** One request with its whole answer. */
  readonly requestMs: number;
  /** All requests of a look together; none is begun later. */
  readonly lookMs: number;
  /** The longest wait that a server may ask for with Retry-After; a longer one ends the look. */
  readonly retryAfterMs: number;
  /** The wait before a second try where the server named none. */
  readonly retryMs: number;
  /** Items asked for in a page; the second where pages of the first are too large to read. */
  readonly pageSizes: readonly [number, number];
  /** Pages of one list. */
  readonly pagesMax: number;
  /** How often a list whose version is gone begins anew. */
  readonly anewMax: number;
  /** The body of one answer. Why: it is in memory as text and as objects, and 128 MB are for all. */
  readonly bytesMax: number;
  /** Pods read by name in a look; the rest is unreadable. */
  readonly readsMax: number;
  /** Requests at a time. Why: a Worker waits for six connections at most, and the rest would time out in line. */
  readonly readsAtOnce: number;
  /** How long the lists of machines serve the hosts of a tour. */
  readonly machinesMs: number;
}

export const KUBERNETES_LIMITS: KubernetesLimits = {
  requestMs: 10_000,
  lookMs: 30_000,
  retryAfterMs: 5_000,
  retryMs: 500,
  pageSizes: [500, 100],
  pagesMax: 40,
  anewMax: 2,
  bytesMax: 10 * 1024 * 1024,
  readsMax: 100,
  readsAtOnce: 6,
  machinesMs: 30_000,
};
