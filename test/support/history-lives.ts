/**
 * What clients saw of the service: requests with their times and answers, and from them the life of
 * each tenure. May import: nothing. Rule: an unknown outcome may be either.
 */

/** One allocation as it was told to a client: an address under one sequence number. */
export interface Tenure {
  readonly address: string;
  readonly block: string;
  readonly handle: string;
  readonly sequenceNumber: number;
  /** By the block's clock, milliseconds since 1970. */
  readonly allocatedAt: number;
}

export interface Request {
  /** Units: milliseconds of one clock for all clients. */
  readonly invokedAt: number;
  /** Infinity when no answer came. */
  readonly answeredAt: number;
  /** `unknown`: no answer, or one that leaves open what was done. */
  readonly outcome: "ok" | "refused" | "unknown";
  readonly code?: string;
  /** When the client of an unknown outcome gave up: what it sends after that is another attempt. */
  readonly lostAt?: number;
}

/** An automatic allocation or an exact assignment, with its key. */
export interface Allocate extends Request {
  readonly kind: "allocate";
  readonly host: string;
  readonly handle: string;
  readonly key: string;
  /** Two requests of one key are the same request when their bodies are. */
  readonly body: string;
  readonly got: readonly Tenure[];
  /** An address was asked for by name. */
  readonly isExact?: boolean;
  /** How many addresses were asked for, of all families; absent: one. */
  readonly wanted?: number;
  /** The handle's limit per family: what it holds may be told instead of something new. */
  readonly limit?: number;
  /** Those of `got` that lie in blocks of others, as the answer says. */
  readonly borrowed?: readonly string[];
}

/** What a release was told of one address. */
export interface Released {
  readonly address: string;
  readonly outcome: string;
  readonly code?: string;
  readonly handle?: string;
  readonly sequenceNumber?: number;
  readonly freeAt?: number;
}

/** A release of a handle, or of one guarded address. */
export interface Release extends Request {
  readonly kind: "release";
  readonly handle?: string;
  readonly address?: string;
  readonly sequenceNumber?: number;
  readonly results: readonly Released[];
}

/** A read of all that one handle holds. */
export interface Read extends Request {
  readonly kind: "read";
  readonly handle: string;
  readonly got: readonly Tenure[];
}

export type Operation = Allocate | Release | Read;

/** A tenure with everything that the history says of it. */
export interface Life {
  readonly tenure: Tenure;
  /** Not allocated before this, and allocated at the latest at that. */
  readonly invokedAt: number;
  readonly answeredAt: number;
  readonly isAcknowledged: boolean;
  readonly claims: Set<string>;
  /** Releases that may have ended it, and those that say they did. */
  readonly ends: readonly Release[];
  readonly ended: readonly Release[];
}

export function isAllocate(operation: Operation): operation is Allocate {
  return operation.kind === "allocate";
}

export function isRelease(operation: Operation): operation is Release {
  return operation.kind === "release";
}

export function idOf({ address, sequenceNumber }: { address: string; sequenceNumber?: number }): string {
  return `${address} #${sequenceNumber}`;
}

export function keyOf({ host, handle, key }: Allocate): string {
  return `${host} ${handle} ${key}`;
}

/** Who may be told of a tenure: a request by its key; within a limit every request of the handle. */
export function claimOf(operation: Allocate): string {
  return operation.limit === undefined ? keyOf(operation) : `${operation.handle} within its limit`;
}

export function grouped<T>(items: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}

/** Collects the life of each tenure that anybody was told of, by releases and the last listing too. */
export function livesOf(history: readonly Operation[], final: readonly Tenure[]): Life[] {
  const allocates = history.filter(isAllocate);
  const begun = firstInvoked(allocates);
  const lives = new Map<string, Omit<Life, "ends" | "ended">>();
  for (const operation of allocates) {
    const claim = claimOf(operation);
    for (const tenure of operation.got) {
      const known = lives.get(idOf(tenure));
      const claims = known?.claims ?? new Set<string>();
      claims.add(claim);
      lives.set(idOf(tenure), {
        tenure,
        claims,
        isAcknowledged: true,
        invokedAt: Math.min(known?.invokedAt ?? Number.POSITIVE_INFINITY, begun.get(claim) ?? 0),
        answeredAt: Math.min(known?.answeredAt ?? Number.POSITIVE_INFINITY, operation.answeredAt),
      });
    }
  }
  const unseen = { invokedAt: Number.NEGATIVE_INFINITY, isAcknowledged: false };
  const tell = (tenure: Tenure, answeredAt: number): void => {
    if (lives.has(idOf(tenure))) return;
    lives.set(idOf(tenure), { tenure, ...unseen, answeredAt, claims: new Set() });
  };
  for (const { results, answeredAt } of history.filter(isRelease)) {
    for (const { address, handle, sequenceNumber, outcome } of results) {
      if (outcome !== "released" || handle === undefined || sequenceNumber === undefined) continue;
      const allocatedAt = Number.POSITIVE_INFINITY;
      tell({ address, block: "", handle, sequenceNumber, allocatedAt }, answeredAt);
    }
  }
  for (const tenure of final) tell(tenure, Number.POSITIVE_INFINITY);
  return [...lives.values()].map((life) => ({ ...life, ...endsOf(life.tenure, releaseIndex(history)) }));
}

/** When each claim was first sent: what it got cannot be older. */
export function firstInvoked(allocates: readonly Allocate[]): Map<string, number> {
  const begun = new Map<string, number>();
  for (const operation of allocates) {
    const claim = claimOf(operation);
    begun.set(claim, Math.min(begun.get(claim) ?? Number.POSITIVE_INFINITY, operation.invokedAt));
  }
  return begun;
}

interface ReleaseIndex {
  readonly byHandle: ReadonlyMap<string, readonly Release[]>;
  readonly byAddress: ReadonlyMap<string, readonly Release[]>;
}

const indexes = new WeakMap<readonly Operation[], ReleaseIndex>();

export function releaseIndex(history: readonly Operation[]): ReleaseIndex {
  const known = indexes.get(history);
  if (known !== undefined) return known;
  const releases = history.filter(isRelease);
  const index = {
    byHandle: grouped(
      releases.filter(({ handle, address }) => handle !== undefined && address === undefined),
      ({ handle }) => handle ?? "",
    ),
    byAddress: grouped(
      releases.filter(({ address }) => address !== undefined),
      ({ address }) => address ?? "",
    ),
  };
  indexes.set(history, index);
  return index;
}

/** An answered release ended what it says; one without an answer may have ended what it names. */
export function endsOf(tenure: Tenure, { byHandle, byAddress }: ReleaseIndex): Pick<Life, "ends" | "ended"> {
  const named = [...(byHandle.get(tenure.handle) ?? []), ...(byAddress.get(tenure.address) ?? [])];
  const ended = named.filter(({ results }) =>
    results.some((result) => result.outcome === "released" && idOf(result) === idOf(tenure)),
  );
  const perhaps = named.filter((release) => release.outcome === "unknown" && names(release, tenure));
  return { ended, ends: [...ended, ...perhaps] };
}

/** Whether a release means this tenure: what it gives as a guard must match. */
export function names({ handle, address, sequenceNumber }: Release, tenure: Tenure): boolean {
  if (handle !== undefined && handle !== tenure.handle) return false;
  if (address !== undefined && address !== tenure.address) return false;
  return sequenceNumber === undefined || sequenceNumber === tenure.sequenceNumber;
}
