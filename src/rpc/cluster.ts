/**
 * What Cluster answers: configuration, pools, reservations under leases, and the directory of hosts. Types only.
 * Rule: a policy write answers when every later allocation obeys it.
 */
import type { Attributes } from "../core/allocation.ts";
import type { Rejection } from "../core/errors.ts";
import type { EventDraft, RecentEvent, RefusalRow } from "../core/events.ts";
import type { Config, Policy, PoolDefinition, ReservationDefinition } from "../core/policy.ts";
import type { Result } from "../core/result.ts";
import type { Kept } from "./host.ts";

export interface LeaseAnswer {
  readonly version: number;
  /** By Cluster's clock, milliseconds since 1970. */
  readonly leaseUntil: number;
  /** Present when the version differs from the one the caller knows. */
  readonly policy?: Policy;
}

/** Preconditions of a write, from If-Match and If-None-Match. */
export interface WriteGuard {
  readonly ifRevision?: number;
  readonly mustNotExist?: boolean;
  /** Who writes, e.g. `token:ops`. */
  readonly by: string;
  /** With which request; stands in the event. */
  readonly requestId?: string;
}

/** Who brings something about, e.g. `token:ops`, and with which request; stands in the event. */
export interface Author {
  readonly by: string;
  readonly requestId?: string;
}

export interface HostEntry {
  readonly host: string;
  readonly kind: "host" | "virtual";
  readonly registered: boolean;
  readonly removing: boolean;
  readonly labels: Attributes;
  readonly enrolledAt: number;
}

/** A host that stays `removing` until somebody releases what holds it. */
export interface HeldRemoval {
  readonly host: string;
  readonly kept: Kept;
}

type GuardRefusal = "revision_mismatch" | "already_exists" | "policy_unavailable";

/** Which events are wanted; each absent filter takes all. Units: milliseconds since 1970. */
export interface EventFilter {
  readonly type?: string;
  readonly severity?: string;
  readonly host?: string;
  readonly pool?: string;
  readonly code?: string;
  readonly since?: number;
}

/** Bodies as parsed at the edge; their fields are those of PoolSpec, PoolPatch, ConfigPatch, ReservationSpec. */
export type SpecFields = Readonly<Record<string, unknown>>;

export interface Written<T> {
  readonly created: boolean;
  readonly value: T;
}

export interface ClusterPort {
  lease(request: { readonly knownVersion?: number }): Promise<LeaseAnswer>;
  /** The policy as stored, without a lease: for reads. */
  policy(request: {
    readonly knownVersion?: number;
  }): Promise<{ readonly version: number; readonly policy?: Policy }>;
  changeConfig(
    request: WriteGuard & { readonly patch: SpecFields },
  ): Promise<Result<Config, Rejection<"config_conflict" | GuardRefusal>>>;
  putPool(
    request: WriteGuard & { readonly name: string; readonly spec: SpecFields },
  ): Promise<
    Result<
      Written<PoolDefinition>,
      Rejection<"invalid_request" | "pool_overlap" | "pool_field_immutable" | "pool_draining" | GuardRefusal>
    >
  >;
  patchPool(
    request: WriteGuard & { readonly name: string; readonly patch: SpecFields },
  ): Promise<
    Result<
      PoolDefinition,
      Rejection<
        "pool_not_found" | "invalid_request" | "pool_field_immutable" | "pool_draining" | GuardRefusal
      >
    >
  >;
  /** Begins a drain, or goes on with it; `gone`: nothing was left, and the definition has been removed. */
  drainPool(
    request: WriteGuard & { readonly name: string },
  ): Promise<
    Result<
      { readonly value: PoolDefinition; readonly gone: boolean },
      Rejection<"pool_not_found" | GuardRefusal>
    >
  >;
  /** A Pool says that none of its blocks is left; `kept`: the drain that it speaks of was cancelled. */
  poolDrained(request: {
    readonly name: string;
    readonly incarnation: number;
    /** Of the definition that ordered the drain. */
    readonly revision: number;
  }): Promise<{ readonly kind: "removed" | "kept" }>;
  /** Cuts a pool that holds no block into equal parts; a repeat with its key is answered as before. */
  splitPool(
    request: WriteGuard & { readonly name: string; readonly parts: number; readonly key?: string },
  ): Promise<
    Result<
      readonly PoolDefinition[],
      Rejection<
        | "pool_not_found"
        | "invalid_request"
        | "pool_draining"
        | "block_not_empty"
        | "in_progress"
        | "policy_unavailable"
      >
    >
  >;
  putReservation(
    request: WriteGuard & { readonly name: string; readonly spec: SpecFields },
  ): Promise<Result<Written<ReservationDefinition>, Rejection<"invalid_request" | GuardRefusal>>>;
  deleteReservation(
    request: WriteGuard & { readonly name: string },
  ): Promise<Result<{ readonly deleted: true }, Rejection<"reservation_not_found" | GuardRefusal>>>;
  /** Which deployment this is, and how many hosts are registered. */
  status(request: object): Promise<{
    readonly deploymentId: string;
    readonly hostsActive: number;
    readonly hostsRemoving: number;
    /** The first of these, by name, that wait for somebody, as they have told. Absent: none does. */
    readonly heldRemovals?: readonly HeldRemoval[];
    /** By what hosts have told: at most a few seconds late. */
    readonly refusalsLast10Minutes: number;
  }>;
  /** A Host tells what it refused since it told last; a message that came before counts once. */
  refusals(request: {
    readonly host: string;
    /** Names this message. */
    readonly message: string;
    readonly rows: readonly RefusalRow[];
  }): Promise<{ readonly heard: true }>;
  /** A check has mended what it could; a message that came before counts once. */
  repaired(request: {
    readonly check: string;
    readonly problems: number;
    readonly repaired: number;
    /** Names this message. */
    readonly message: string;
    readonly by?: string;
    readonly requestId?: string;
  }): Promise<{ readonly heard: true }>;
  /** The Sweep tells what became of the collector; a message that came before counts once. */
  noted(request: {
    readonly event: EventDraft;
    /** Names this message. */
    readonly message: string;
  }): Promise<{ readonly heard: true }>;
  /** What happened lately, newest first. */
  listEvents(
    request: EventFilter & { readonly before?: number; readonly limit: number },
  ): Promise<{ readonly events: readonly RecentEvent[]; readonly next?: number }>;
  /** A host enters itself before its first row of any kind, and again when its labels or its state change. */
  enrol(request: {
    readonly host: string;
    readonly registered: boolean;
    /** Declared gone, and not yet over. Absent: no. */
    readonly removing?: boolean;
    /** What the removal waits for, if anything. Absent: as it told before. */
    readonly kept?: Kept;
    readonly labels: Attributes;
    /** Of the host's registration; an older one than is stored changes nothing. Absent: 0. */
    readonly revision?: number;
    /** Absent: the host itself, of its own accord. */
    readonly author?: Author;
  }): Promise<void>;
  /** Whether an owner ever entered itself: one that did not has no row of any kind anywhere. */
  findHost(request: { readonly host: string }): Promise<{ readonly entry?: HostEntry }>;
  /** Those of some hosts that are not in the list of hosts; for a check. */
  unlistedHosts(request: {
    readonly hosts: readonly string[];
  }): Promise<{ readonly hosts: readonly string[] }>;
  listHosts(request: {
    readonly after?: string;
    readonly limit: number;
  }): Promise<{ readonly hosts: readonly HostEntry[]; readonly next?: string }>;
}
