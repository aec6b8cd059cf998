/**
 * Evidence from a Kubernetes API server: the pods it lists or reads, and the virtual machines.
 * May import: core only. Rule: every doubt is life or unknown; only what was looked for and not found is absent.
 */
import type { Answer, Evidence, Mark } from "./leak-evidence.ts";
import {
  canonicalAddress,
  type LeakKind,
  type LeakSubject,
  type NamedOwner,
  namedOwners,
  nameIn,
} from "./leak-subject.ts";

/** A pod as the API server gives it. Units: milliseconds since 1970. */
export interface PodFact {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  /** Addresses of all families. */
  readonly addresses: readonly string[];
  readonly phase?: string;
  readonly createdAt?: number;
}

/** Virtual machines of the whole cluster, and the instances that run; names as `nameIn` makes them. */
export interface MachineFacts {
  readonly machines: ReadonlySet<string>;
  readonly instances: ReadonlyMap<string, { readonly isOwnedByMachine: boolean }>;
  /** Names whose look-up failed. */
  readonly unreadable?: ReadonlySet<string>;
}

/** One look at the API server. */
export interface ClusterView {
  /** The list ran to its end, at one version. */
  readonly complete: boolean;
  /** `host`: only pods of the host were listed; a pod of that name may run elsewhere. */
  readonly scope: "host" | "cluster";
  readonly pods: readonly PodFact[];
  /** Where pods were read by name: the names; it speaks of no others. */
  readonly read?: ReadonlySet<string>;
  /** Addresses that pods use by an earlier list of the same audit; see `addressesInUse`. */
  readonly inUse?: ReadonlySet<string>;
  /** Names of pods whose look-up failed. */
  readonly unreadable?: ReadonlySet<string>;
  /** Absent: the cluster was not asked, or could not say; then no machine is judged. */
  readonly machines?: MachineFacts;
}

/** How long a pod may be without an address before it no longer speaks for one of its name, ms. */
const STARTING_MS = 600_000;
/** Phases in which a pod's containers have ended for good: it owns nothing any more, evicted or not. */
const FINISHED: ReadonlySet<string> = new Set(["Succeeded", "Failed"]);

/** Reads a view of the cluster for lookups. */
export function kubernetesEvidence(mark: Omit<Mark, "source">, view: ClusterView): Evidence {
  const byName = new Map(view.pods.map((pod) => [nameIn(pod.namespace, pod.name), pod]));
  const inUse = new Set([...addressesInUse(view.pods), ...(view.inUse ?? [])]);
  const ofPod = (subject: LeakSubject, owner: NamedOwner): Answer => {
    const name = nameIn(owner.namespace, owner.pod);
    if (view.read !== undefined && !view.read.has(name)) return "silent";
    if (view.unreadable?.has(name)) return "unknown";
    const pod = byName.get(name);
    if (pod !== undefined) return answerOfPod(subject, owner, pod, mark.takenAt);
    if (!view.complete) return "unlisted";
    return view.scope === "host" ? "absent_here" : "absent";
  };
  const says = (subject: LeakSubject, kind: LeakKind): Answer => {
    if (kind === "vm") return strongest(namedOwners(subject).map((owner) => answerOfMachine(owner, view)));
    if (kind !== "workload") return "silent";
    if (inUse.has(subject.address)) return "alive";
    const answer = strongest(namedOwners(subject).map((owner) => ofPod(subject, owner)));
    // Another host got it too, for a pod that the attributes need not name: whom to look for is not known.
    return subject.usedOn !== undefined && answer !== "alive" ? "silent" : answer;
  };
  return { mark: { ...mark, source: "kubernetes" }, isHostBound: false, says };
}

/** An address with two owners is in use if one of them uses it, and absent only if both are. */
const STRENGTH: readonly Answer[] = ["alive", "unknown", "silent", "unlisted", "absent_here", "absent"];

function strongest(answers: readonly Answer[]): Answer {
  return STRENGTH.find((answer) => answers.includes(answer)) ?? "silent";
}

/** Addresses of all pods that run, each in its one spelling. */
export function addressesInUse(pods: readonly PodFact[]): Set<string> {
  return new Set(pods.filter(isRunning).flatMap(addressesOf));
}

function isRunning({ phase }: PodFact): boolean {
  return phase === undefined || !FINISHED.has(phase);
}

function addressesOf({ addresses }: PodFact): string[] {
  return addresses.map((text) => canonicalAddress(text) ?? text);
}

function answerOfPod(subject: LeakSubject, owner: NamedOwner, pod: PodFact, takenAt: number): Answer {
  if (!isRunning(pod)) return "absent";
  // A matching address wins over everything else that may differ.
  if (addressesOf(pod).includes(subject.address)) return "alive";
  if (pod.addresses.some((text) => canonicalAddress(text) === undefined)) return "unknown";
  if (pod.addresses.length > 0) return "absent";
  // It has not said yet which address it got.
  const isReplaced = owner.uid !== undefined && pod.uid !== undefined && owner.uid !== pod.uid;
  const isStarting = pod.createdAt === undefined || takenAt - pod.createdAt <= STARTING_MS;
  return isStarting && !isReplaced ? "alive" : "unknown";
}

/** A machine keeps its address while it stands still; its pods come and go. */
function answerOfMachine(owner: NamedOwner, { machines: facts }: ClusterView): Answer {
  if (owner.machine === undefined || facts === undefined) return "silent";
  const name = nameIn(owner.namespace, owner.machine);
  if (facts.unreadable?.has(name)) return "unknown";
  if (facts.machines.has(name)) return "alive";
  const instance = facts.instances.get(name);
  // An instance whose machine has gone only waits for its end.
  return instance !== undefined && !instance.isOwnedByMachine ? "alive" : "absent";
}
