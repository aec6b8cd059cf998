/**
 * What the parts of the leak collector ask each other: Sweep its Hosts, a Host its blocks and the Sweep. Types only.
 * Rule: blocks own the truth; a Host judges, the Sweep paces and brakes, and each call may be repeated.
 */
import type {
  HoldingsAnswer,
  HoldingsRequest,
  ReleaseLeakedAnswer,
  ReleaseLeakedRequest,
} from "../core/block-leaks.ts";
import type { Rejection } from "../core/errors.ts";
import type { AttachmentOutcome, LeakView } from "../core/leak-answers.ts";
import type { NodeSighting } from "../core/leak-host.ts";
import type { HoldReason } from "../core/leak-ledger.ts";
import type { Standing } from "../core/leak-policy.ts";
import type { ReportedWorkload } from "../core/leak-report.ts";
import type { LeakKind } from "../core/leak-subject.ts";
import type { Result } from "../core/result.ts";
import type { Author } from "./cluster.ts";

export type * from "../core/block-leaks.ts";

export interface BlockLeakPort {
  holdings(request: HoldingsRequest): Promise<HoldingsAnswer>;
  releaseLeaked(request: ReleaseLeakedRequest): Promise<ReleaseLeakedAnswer>;
}

/** What an agent lists as living on its host. Units: milliseconds. */
export interface WorkloadReport {
  readonly host: string;
  readonly incarnation: string;
  readonly sequence: number;
  readonly ageMs: number;
  readonly complete: boolean;
  readonly workloads: readonly ReportedWorkload[];
}

/** An address in use on a host that does not hold it. */
export interface UnallocatedUseView {
  readonly address: string;
  /** `unknown`: its block did not answer, or there were too many to ask. */
  readonly state: "free" | "cooling" | "allocated" | "reserved" | "not_in_any_pool" | "unknown";
  readonly handle?: string;
  /** The host that holds it by the service's word. */
  readonly holder?: string;
}

export interface LeakCountsView {
  readonly candidates: number;
  readonly confirmed: number;
  readonly held: number;
}

export interface ReportView {
  /** When the report was taken in. Milliseconds since 1970. */
  readonly observedAt: number;
  /** False: the host's agent was replaced meanwhile, and the report was looked at no further. */
  readonly accepted: boolean;
  readonly addressesNotAllocated: readonly UnallocatedUseView[];
  readonly leaks: LeakCountsView;
  readonly nextReportWithinMs: number;
}

export interface AttachmentsRequest {
  readonly host: string;
  readonly network: string;
  readonly validHandles: readonly string[];
  /** When the request reached the service; a copy of it has the same. Milliseconds since 1970. */
  readonly arrivedAt?: number;
  readonly deadlineAt?: number;
}

export interface AttachmentsView {
  readonly released: number;
  readonly held: number;
  readonly results: readonly AttachmentOutcome[];
}

/** The Sweep's visit. Units: milliseconds. */
export interface AuditRequest {
  readonly host: string;
  /** Which sweep it belongs to; it names the visit in logs and figures. */
  readonly sweep: number;
  /** An audit that is no older will do: a host that reports is not audited twice. */
  readonly ifOlderThanMs: number;
  /** What the cluster said of the node; absent: no cluster is asked. */
  readonly sighting?: NodeSighting;
}

export interface AuditAnswer {
  /** `more`: the slice is over, the Host is to be visited again soon. `unknown`: nothing is known of such a host. */
  readonly kind: "audited" | "fresh" | "more" | "unknown";
  /** The whole host, as of its last audit. */
  readonly figures: HostLeakFigures;
  /** Calls of other objects that the visit made. */
  readonly calls: number;
}

/** `report`: the host's agent; `attachments`: its container runtime. */
export type EvidenceSource = "report" | "attachments" | "kubernetes";

/** What one Host tells of its audits: all that status and metrics are made of. */
export interface HostLeakFigures {
  /** The last audit that read everything; 0: none yet. Milliseconds since 1970. */
  readonly auditedAt: number;
  readonly allocated: number;
  readonly counts: LeakCountsView;
  /** Suspicions by why they are held. */
  readonly heldByReason: Readonly<Partial<Record<HoldReason, number>>>;
  /** Allocations that are not judged for want of a source's word, suspects too, by that source. */
  readonly unknownBySource: Readonly<Partial<Record<EvidenceSource, number>>>;
  /** Allocations that nobody can judge, by kind. */
  readonly unauditable: Readonly<Partial<Record<LeakKind, number>>>;
  readonly report: ReportStateView;
  /** By pool; what the host found left of pools that are gone is under the empty name. */
  readonly pools: Readonly<Record<string, HostPoolFigures>>;
  readonly isGone: boolean;
  /** The last failure of an audit, as a word; never an address or an attribute. */
  readonly lastError?: { readonly at: number; readonly what: string };
}

export interface HostPoolFigures {
  readonly allocated: number;
  /** Held in blocks of other owners, or of none; of a virtual owner only in those of none. */
  readonly borrowed: number;
  /** Blocks that the host owns. */
  readonly blocks: number;
  /** All that is suspected and not yet released: candidates and confirmed ones, held or not. */
  readonly candidates: number;
  /** Released by the collector since the host was first audited; only rises. */
  readonly reclaimed: number;
}

export interface ReportStateView {
  readonly state: "fresh" | "stale" | "never";
  readonly lastAt?: number;
  readonly ageMs?: number;
  readonly sequence?: number;
  readonly complete?: boolean;
  readonly workloads: number;
  readonly addressesNotAllocated?: number;
}

/** One row of the ledger as it is listed. */
export interface ListedLeak extends LeakView {
  readonly host: string;
  readonly pool?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly sequenceNumber: number;
}

export interface HostLeakPort {
  reportWorkloads(
    request: WorkloadReport,
  ): Promise<Result<ReportView, Rejection<"host_unknown" | "report_out_of_order" | "incarnation_conflict">>>;
  collectAttachments(
    request: AttachmentsRequest,
  ): Promise<Result<AttachmentsView, Rejection<"host_unknown" | "policy_unavailable">>>;
  /** A slice of the audit of one host: judge, re-check, release, give back empty blocks, take down a lost host. */
  audit(request: AuditRequest): Promise<AuditAnswer>;
  /** How members of a handle stand that are on this host, by the evidence that it has. */
  standings(request: {
    readonly host: string;
    readonly members: readonly { readonly address: string; readonly block: string; readonly touch: number }[];
  }): Promise<{ readonly standings: readonly Standing[] }>;
  /** The ledger in the order of addresses. */
  leaks(request: { readonly host: string; readonly after?: string; readonly limit: number }): Promise<{
    readonly leaks: readonly ListedLeak[];
    readonly next?: string;
    /** What the host's agent reported last. Absent: an older Host. */
    readonly report?: ReportStateView;
  }>;
}

/** A Host asks before it releases; asked with nothing wanted, it only tells what is due. */
export interface WeighRequest {
  readonly host: string;
  readonly due: number;
  readonly wanted: number;
  readonly isRemoved: boolean;
  readonly isLost: boolean;
  readonly figures: HostLeakFigures;
}

export interface WeighAnswer {
  readonly granted: number;
  readonly stop?: "paused" | "breaker_open" | "release_limit";
}

export interface GcView {
  readonly state: "idle" | "running" | "paused" | "stuck" | "breaker_open";
  readonly paused: boolean;
  readonly pausedBy?: string;
  readonly pauseReason?: string;
  readonly sweep: number;
  /** 0: no sweep has ended yet. Milliseconds since 1970, as all times here. */
  readonly lastSweepAt: number;
  readonly lastSweepMs?: number;
  readonly oldestAuditMs: number;
  readonly oldestAuditHost?: string;
  /** Hosts that this sweep has still to visit. */
  readonly backlogHosts: number;
  readonly counts: LeakCountsView;
  readonly releasedLastHour: number;
  readonly hostsStale: number;
  readonly hostsNeverReported: number;
  readonly breaker: {
    readonly open: boolean;
    readonly openedAt?: number;
    readonly scope?: string;
    readonly confirmed?: number;
    readonly limitPercent?: number;
  };
  readonly tick: {
    readonly lastAt: number;
    readonly nextAt?: number;
    readonly overdue: boolean;
    readonly source?: "cron" | "alarm" | "manual";
  };
  readonly lastError?: { readonly at: number; readonly what: string };
}

export interface SweepLeakPort {
  weigh(request: WeighRequest): Promise<WeighAnswer>;
  getGc(request: object): Promise<GcView>;
  changeGc(request: { readonly paused?: boolean; readonly reason?: string } & Author): Promise<GcView>;
  /** Begins a sweep of all hosts now, or goes on with the one that runs. */
  startSweep(request: Author): Promise<{ readonly sweep: number }>;
  acknowledge(
    request: { readonly breakerOpenedAt: number } & Author,
  ): Promise<Result<GcView, Rejection<"breaker_not_open">>>;
  /** What each Host told last, by name: for metrics and for lists of leaks. */
  hostFigures(request: { readonly after?: string; readonly limit: number }): Promise<{
    readonly hosts: readonly { readonly host: string; readonly figures: HostLeakFigures }[];
    readonly next?: string;
  }>;
}
