/**
 * What stops the collector when it goes wrong: a bucket for the whole deployment, and a breaker.
 * May import: core only; the state is plain data, kept by whoever serialises all hosts.
 * Rule: an open breaker closes only when an operator names when it opened.
 */
import { type Rejection, rejection } from "./errors.ts";
import { err, ok, type Result } from "./result.ts";

/** Addresses that one run of one host releases at most; a run is a slice of an audit. */
export const RELEASES_PER_RUN_MAX = 200;

/** The bounds of the brakes. Units: addresses, milliseconds, percent. */
export interface BrakeLimits {
  /** Addresses that the whole deployment releases in a minute; as many may go at once. */
  readonly releasesPerMinute: number;
  /** Share of a host that may be leaked at once, and the number below which no share counts. */
  readonly hostPercent: number;
  readonly hostMin: number;
  /** The same of the deployment, within one window. */
  readonly deploymentPercent: number;
  readonly deploymentMin: number;
  readonly windowMs: number;
  /** How long an acknowledgement lets pass what was due when the breaker opened. */
  readonly acknowledgedMs: number;
}

export const BRAKE_LIMITS: BrakeLimits = {
  releasesPerMinute: 2_000,
  hostPercent: 50,
  hostMin: 20,
  deploymentPercent: 5,
  deploymentMin: 100,
  windowMs: 900_000,
  acknowledgedMs: 3_600_000,
};

/** The scope that is no host: a host's name has no space. */
export const DEPLOYMENT = "the deployment";

export interface OpenBreaker {
  readonly openedAt: number;
  /** A host's name, or DEPLOYMENT. */
  readonly scope: string;
  /** Addresses that were due. */
  readonly confirmed: number;
  readonly limitPercent: number;
}

/** State of the brakes, as stored. Units: milliseconds since 1970. */
export interface Brakes {
  readonly bucket: { readonly addresses: number; readonly at: number };
  readonly breaker?: OpenBreaker;
  /** What an operator let pass, by scope: as many addresses as were due. */
  readonly allowed: Readonly<Record<string, { readonly addresses: number; readonly until: number }>>;
  /** What each host had due at most in this window, and the most addresses the deployment had in it. */
  readonly window: {
    readonly since: number;
    readonly dueByHost: Readonly<Record<string, number>>;
    readonly allocated: number;
  };
}

/** One host's wish. */
export interface ReleaseWish {
  readonly host: string;
  /** Addresses of handles that are leaked as a whole, to be released now or later. */
  readonly due: number;
  /** Addresses to release now; none where only `due` is told. */
  readonly wanted: number;
  /** Addresses that the host holds. */
  readonly allocatedOnHost: number;
  /** Addresses that the whole deployment holds, as far as known. */
  readonly allocated: number;
  /** An operator removed the host: all of it is expected to go. */
  readonly isRemoved: boolean;
  /** The host was lost: its own share says nothing, the deployment's does. */
  readonly isLost: boolean;
}

export interface ReleaseGrant {
  readonly brakes: Brakes;
  /** Addresses that may go now; 0 while the breaker is open. */
  readonly granted: number;
  /** What the host holds is held for. */
  readonly stop?: "breaker_open" | "release_limit";
}

/** The brakes of a deployment that has released nothing yet. */
export function newBrakes(now: number, limits: BrakeLimits): Brakes {
  return {
    bucket: { addresses: limits.releasesPerMinute, at: now },
    allowed: {},
    window: { since: now, dueByHost: {}, allocated: 0 },
  };
}

/**
 * Decides how much of a wish is granted; asked again with the same numbers it counts nothing twice but
 * what it grants.
 * Shape: hosts tell what is due as soon as it is confirmed, so that a breaker opens before the first release.
 */
export function weigh(before: Brakes, wish: ReleaseWish, now: number, limits: BrakeLimits): ReleaseGrant {
  const counted = afterTime(before, now, limits);
  const window = wish.isRemoved ? counted.window : withDue(counted.window, wish);
  const brakes: Brakes = { ...counted, window };
  if (brakes.breaker !== undefined) return { brakes, granted: 0, stop: "breaker_open" };
  const breaker = implausible(brakes, wish, now, limits);
  if (breaker !== undefined) return { brakes: { ...brakes, breaker }, granted: 0, stop: "breaker_open" };
  const granted = Math.max(0, Math.min(wish.wanted, Math.floor(brakes.bucket.addresses)));
  const bucket = { ...brakes.bucket, addresses: brakes.bucket.addresses - granted };
  return {
    brakes: { ...brakes, bucket },
    granted,
    ...(granted < wish.wanted ? { stop: "release_limit" as const } : {}),
  };
}

/**
 * Closes the breaker and lets pass what was due, once, for a limited time.
 * Rejects: a time at which no breaker opened that is still open.
 */
export function acknowledge(
  brakes: Brakes,
  openedAt: number,
  now: number,
  limits: BrakeLimits,
): Result<Brakes, Rejection<"breaker_not_open">> {
  const { breaker, allowed, ...rest } = brakes;
  if (breaker === undefined) return err(notOpen());
  if (breaker.openedAt !== openedAt) return err(notOpen({ openedAt: breaker.openedAt, given: openedAt }));
  const { scope, confirmed } = breaker;
  const passes = { addresses: confirmed, until: now + limits.acknowledgedMs };
  return ok({ ...rest, allowed: { ...allowed, [scope]: passes } });
}

/** Refuses an acknowledgement; `times` where a breaker is open, and opened at another time than was given. */
export function notOpen(times: { readonly openedAt?: number; readonly given?: number } = {}) {
  return rejection("breaker_not_open", { field: "breakerOpenedAt", ...times });
}

/** Fills the bucket, begins a new window, ends what was allowed. A clock that was set back does none of it. */
function afterTime(brakes: Brakes, now: number, limits: BrakeLimits): Brakes {
  const { bucket, window, allowed, ...rest } = brakes;
  const elapsed = Math.max(0, now - bucket.at);
  const filled = bucket.addresses + (elapsed * limits.releasesPerMinute) / 60_000;
  const isOver = now - window.since >= limits.windowMs;
  const still = Object.entries(allowed).filter(([, { until }]) => now < until);
  return {
    ...rest,
    bucket: { addresses: Math.min(limits.releasesPerMinute, filled), at: Math.max(bucket.at, now) },
    window: isOver ? { since: now, dueByHost: {}, allocated: 0 } : window,
    allowed: Object.fromEntries(still),
  };
}

function withDue(window: Brakes["window"], { host, due, allocated }: ReleaseWish): Brakes["window"] {
  const most = Math.max(window.dueByHost[host] ?? 0, due);
  return {
    since: window.since,
    dueByHost: most === 0 ? window.dueByHost : { ...window.dueByHost, [host]: most },
    // What is released in a window counts as if it were still there.
    allocated: Math.max(window.allocated, allocated),
  };
}

function implausible(
  brakes: Brakes,
  wish: ReleaseWish,
  now: number,
  limits: BrakeLimits,
): OpenBreaker | undefined {
  if (wish.isRemoved || wish.due === 0) return undefined;
  const { hostPercent, hostMin, deploymentPercent, deploymentMin } = limits;
  const { allocated, dueByHost } = brakes.window;
  const dueInAll = Object.values(dueByHost).reduce((sum, due) => sum + due, 0);
  const open = (scope: string, due: number, total: number, percent: number, min: number) => {
    const isTooMuch = due >= min && due * 100 > total * percent;
    if (!isTooMuch || due <= allowedFor(brakes, scope)) return undefined;
    return { openedAt: now, scope, confirmed: due, limitPercent: percent };
  };
  const ofHost = wish.isLost
    ? undefined
    : open(wish.host, wish.due, wish.allocatedOnHost, hostPercent, hostMin);
  return ofHost ?? open(DEPLOYMENT, dueInAll, allocated, deploymentPercent, deploymentMin);
}

function allowedFor({ allowed }: Brakes, scope: string): number {
  return allowed[scope]?.addresses ?? 0;
}
