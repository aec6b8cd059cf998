/**
 * The judgement of one host: every allocation of it against all evidence, into the ledger of suspicions.
 * May import: core only; the clock is a fact. Rule: what was not read is neither judged nor forgotten.
 */
import { type Evidence, type Freshness, type UnknownReason, verdictOf } from "./leak-evidence.ts";
import type { HostLife } from "./leak-host.ts";
import { type Finding, type Suspicion, suspicionAfter } from "./leak-ledger.ts";
import { kindOf, type LeakKind, type LeakSubject } from "./leak-subject.ts";
import type { Config } from "./policy.ts";

/** Seconds that lie between two observations where no operator says otherwise. */
export const LEAK_GRACE_SECONDS_DEFAULT = 900;
/** Seconds after which evidence is stale where no operator says otherwise. */
export const STALE_REPORT_SECONDS_DEFAULT = 300;
/** The least grace for a virtual machine: it restarts and moves, ms. */
const MACHINE_GRACE_MS = 300_000;

/** The times of a configuration. Units: milliseconds. */
export function leakTimes({
  leakGraceSeconds = LEAK_GRACE_SECONDS_DEFAULT,
  staleReportSeconds = STALE_REPORT_SECONDS_DEFAULT,
}: Pick<Config, "leakGraceSeconds" | "staleReportSeconds">): {
  readonly graceMs: number;
  readonly staleMs: number;
} {
  return { graceMs: leakGraceSeconds * 1000, staleMs: staleReportSeconds * 1000 };
}

/** All that an audit of a host rests on. Units: milliseconds; times since 1970. */
export interface HostFacts extends Freshness {
  readonly life: HostLife;
  /** 0: suspects are marked and never confirmed; absent: not even marked. Machines are judged all the same. */
  readonly graceMs?: number;
  readonly evidence: readonly Evidence[];
  /** A cluster is asked in this deployment, whether or not it answered this time. */
  readonly hasKubernetes: boolean;
  /** The blocks that were read, each with what this host holds there. */
  readonly blocks: readonly { readonly block: string; readonly subjects: readonly LeakSubject[] }[];
  /** Every block was read in which the host has, or may have, an address. */
  readonly isWhole: boolean;
  readonly ledger: readonly Suspicion[];
}

/** Where an allocation stands. `exempt`: not the collector's. `ready`: proven leaked by what was seen now. */
export type Standing = "alive" | "unknown" | "exempt" | "candidate" | "confirmed" | "ready";

export interface Judged {
  readonly subject: LeakSubject;
  readonly kind: LeakKind;
  readonly standing: Standing;
  /** Why it is unknown; `unreadable` of a suspect: a cluster that is asked has not told of it. */
  readonly why?: UnknownReason;
}

export interface HostAudit {
  /** The whole ledger after the audit; rows of blocks that were not read are as they were. */
  readonly ledger: readonly Suspicion[];
  /** By address. */
  readonly judged: ReadonlyMap<string, Judged>;
  /** Handles for which evidence taken now would decide: read their pods by name and audit again. */
  readonly recheck: readonly string[];
  /** On a lost host: something may live there, or was not read, so its tunnels and affinities stay. */
  readonly hasVeto: boolean;
}

/** Kinds that only evidence judges; the others stand and fall with something else. */
const BY_EVIDENCE: Readonly<Record<LeakKind, boolean>> = {
  workload: true,
  vm: true,
  // Only the attachments of its own network speak of it.
  external: true,
  tunnel: false,
  load_balancer: false,
  reserved: false,
};

/**
 * Judges all allocations of a host.
 * Invariant: I11. Tunnels live as long as their host, and go with a lost one unless anything there vetoes.
 */
export function auditHost(facts: HostFacts): HostAudit {
  const rows = new Map(facts.ledger.map((row) => [keyOf(row), row]));
  const subjects = facts.blocks.flatMap((one) => one.subjects);
  const first = subjects.filter((subject) => kindOf(subject) !== "tunnel");
  const tunnels = subjects.filter((subject) => kindOf(subject) === "tunnel");
  const judge = (subject: LeakSubject, finding: Finding | "exempt") =>
    entry(subject, rows.get(keyOf(subject)), finding, facts);
  const others = first.map((subject) => judge(subject, findingOf(subject, facts)));
  const isLost = facts.life.kind === "gone";
  const hasVeto = isLost && (!facts.isWhole || others.some(vetoes));
  const theirs = tunnels.map((subject) => judge(subject, findingOfTunnel(subject, facts.life, hasVeto)));
  const entries = [...others, ...theirs];
  const read = new Set(facts.blocks.map(({ block }) => block));
  const unread = facts.ledger.filter(({ block }) => !read.has(block));
  return {
    ledger: [...unread, ...entries.flatMap(({ row }) => row ?? [])],
    judged: new Map(entries.map(({ judged }) => [judged.subject.address, judged])),
    recheck: [
      ...new Set(entries.filter(({ needsRead }) => needsRead).map(({ judged }) => judged.subject.handle)),
    ],
    hasVeto,
  };
}

interface Entry {
  readonly row?: Suspicion;
  readonly judged: Judged;
  readonly needsRead: boolean;
}

function keyOf({ address, touch }: { readonly address: string; readonly touch: number }): string {
  return `${address} ${touch}`;
}

function entry(
  subject: LeakSubject,
  before: Suspicion | undefined,
  finding: Finding | "exempt",
  facts: HostFacts,
): Entry {
  const kind = kindOf(subject);
  if (finding === "exempt") return { judged: { subject, kind, standing: "exempt" }, needsRead: false };
  const { row, isReady } = suspicionAfter(before, subject, kind, finding, graceOf(kind, facts.graceMs));
  const suspected = row === undefined ? "alive" : row.state;
  const isUnknown = finding.kind === "unknown";
  const standing: Standing = isReady ? "ready" : isUnknown ? "unknown" : suspected;
  // On a lost host one look at the whole cluster decides; elsewhere it is the last of three.
  const isDue = row?.state === "confirmed" || isCovered(subject, kind, facts.life);
  return {
    ...(row === undefined ? {} : { row }),
    judged: { subject, kind, standing, ...(isUnknown ? { why: finding.why } : {}) },
    needsRead: finding.kind === "absent" && row !== undefined && !isReady && isDue,
  };
}

/** The grace of a kind; a machine has a least one, and is judged also where others are not. */
export function graceOf(kind: LeakKind, graceMs: number | undefined): number | undefined {
  return kind === "vm" ? Math.max(MACHINE_GRACE_MS, graceMs ?? 0) : graceMs;
}

/** Alive, unknown and foreign things stand in the way of giving up a host; what is reserved does not. */
function vetoes({ judged: { kind, standing } }: Entry): boolean {
  if (standing === "exempt") return kind !== "reserved";
  return standing === "alive" || standing === "unknown";
}

function findingOf(subject: LeakSubject, facts: HostFacts): Finding | "exempt" {
  const kind = kindOf(subject);
  if (!BY_EVIDENCE[kind] || subject.leakCollection === "never") return "exempt";
  const { life, evidence } = facts;
  if (life.kind === "unknown") return { kind: "unknown", why: "unreadable" };
  if (life.kind === "active") return heard(subject, kind, evidence, facts);
  // What only the host could tell, it told before it was lost.
  const later = evidence.filter(({ isHostBound, mark }) => !isHostBound || mark.takenAt >= life.since);
  const finding = heard(subject, kind, later, facts);
  if (finding === "exempt" || !isCovered(subject, kind, life)) return finding;
  return withHost(finding, kind, facts, life.since);
}

/** What was handed out later than the host was lost, or that nobody can look for, is not lost with it. */
function isCovered(subject: LeakSubject, kind: LeakKind, life: HostLife): boolean {
  const isHere = kind !== "external" && subject.usedOn === undefined;
  return life.kind === "gone" && isHere && subject.touchedAt < life.since;
}

/** What is external is the collector's only while something speaks of it. */
function heard(
  subject: LeakSubject,
  kind: LeakKind,
  evidence: readonly Evidence[],
  facts: HostFacts,
): Finding | "exempt" {
  const verdict = verdictOf(subject, kind, evidence, facts);
  const isUnheard = verdict.kind === "unknown" && verdict.why === "evidence_never";
  return kind === "external" && isUnheard ? "exempt" : verdict;
}

/**
 * Tells whether an allocation was lost with its host: confirmed at once, without grace.
 * Why: a machine may run elsewhere, and so may a pod of that name: where a cluster is asked, its word on the
 * whole cluster is needed. Where none is, a workload cannot outlive the host that an operator removed.
 */
function withHost(finding: Finding, kind: LeakKind, facts: HostFacts, since: number): Finding {
  const lost: Finding = { kind: "lost", since };
  if (finding.kind === "absent") return isOfCluster(finding, facts, since) ? lost : finding;
  const isUnheard = finding.kind === "unknown" && finding.why === "evidence_never";
  return isUnheard && kind === "workload" && !facts.hasKubernetes ? lost : finding;
}

/** The cluster looked everywhere, and after the host was lost. */
function isOfCluster(
  { marks, isFinal }: Extract<Finding, { kind: "absent" }>,
  { hasKubernetes }: HostFacts,
  since: number,
): boolean {
  if (!hasKubernetes) return true;
  return isFinal && marks.some(({ source, takenAt }) => source === "kubernetes" && takenAt >= since);
}

function findingOfTunnel(subject: LeakSubject, life: HostLife, hasVeto: boolean): Finding {
  if (life.kind === "active") return { kind: "alive" };
  const isLost = life.kind === "gone" && !hasVeto && isCovered(subject, "tunnel", life);
  return isLost ? { kind: "lost", since: life.since } : { kind: "unknown", why: "unreadable" };
}
