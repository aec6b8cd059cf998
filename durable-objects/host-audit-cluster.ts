/**
 * What an audit asks a Kubernetes API server: the pods of the node, then pods by name before a release.
 * May import: core, rpc. Rule: where a cluster is asked, nothing goes that it did not call absent.
 */
import type { Evidence, Mark } from "../src/core/leak-evidence.ts";
import { addressesInUse, type ClusterView, kubernetesEvidence } from "../src/core/leak-kubernetes.ts";
import { kindOf, type LeakKind, type LeakSubject, namedOwners, nameIn } from "../src/core/leak-subject.ts";
import { type HostContext, once } from "./host-context.ts";
import type { Runtime } from "./runtime.ts";

type ClusterSource = NonNullable<Runtime["cluster"]>;
type PodsLook = Awaited<ReturnType<ClusterSource["podsOn"]>>;

/** How long one look may take in all, ms; each request has its own end. */
const LOOK_MS = 60_000;
/** How long the word on a node is waited for, ms. */
const NODE_MS = 15_000;
/** Pods that are read by name in one audit. */
const PODS_MAX = 100;
/** What a cluster can call absent; of other kinds it does not speak. */
const KINDS: ReadonlySet<LeakKind> = new Set(["workload", "vm"]);

export class ClusterLooks {
  readonly #host: HostContext;
  readonly #source: ClusterSource;
  readonly #nextCount: (takenAt: number) => number;
  readonly #evidence: Evidence[] = [];
  #listed: number;
  /** What pods of the node use, so that no look at others by name calls it absent. */
  #inUse: ReadonlySet<string> = new Set();
  /** Requests that were sent. */
  requests = 0;
  /** A look had no answer, or was cut short. */
  hasFailed = false;
  /** Why, in the cluster's words. */
  what: string | undefined;

  /** The last look that listed anything, in this audit or before. */
  lastTold: Mark | undefined;

  /** `nextCount` numbers the looks: rising, also when the clock does not. `lastTold`: of earlier audits. */
  constructor(
    host: HostContext,
    source: ClusterSource,
    nextCount: (takenAt: number) => number,
    lastTold: Mark | undefined,
  ) {
    this.#host = host;
    this.#source = source;
    this.#nextCount = nextCount;
    this.lastTold = lastTold;
    if (lastTold !== undefined) this.#evidence.push(forgotten(lastTold));
    this.#listed = this.#evidence.length;
  }

  get evidence(): readonly Evidence[] {
    return this.#evidence;
  }

  /** Without what was read by name after it. */
  get listed(): readonly Evidence[] {
    return this.#evidence.slice(0, this.#listed);
  }

  /** Lists the pods of the host's node. */
  async atNode(node: string): Promise<void> {
    await this.#look(() => this.#source.podsOn(node), "host");
    this.#listed = this.#evidence.length;
  }

  /**
   * Reads the node itself, and keeps of what was listed only what lives where the cluster does not know it.
   * Why: a host may be of no cluster, or of another one that names the same API server by mistake; then all
   * its pods are missing there, and live.
   */
  async knows(node: string): Promise<boolean> {
    this.requests += 1;
    const said = await once(this.#host, () => this.#source.readNode(node), NODE_MS);
    if (said.kind === "answered" && said.value === "found") return true;
    if (said.kind !== "answered" || said.value === "unreadable") this.hasFailed = true;
    const alive = this.#evidence.map(onlyLife);
    this.#evidence.splice(0, this.#evidence.length, ...alive);
    return false;
  }

  /**
   * Reads the pods that own addresses, wherever they may run: those of one handle after another, as far as
   * the limit goes. Returns for how many handles.
   */
  async atOwners(handles: readonly (readonly LeakSubject[])[]): Promise<number> {
    const named = new Map<string, { readonly namespace: string; readonly pod: string }>();
    let count = 0;
    for (const subjects of handles) {
      // A machine's pods come and go; it was looked for with the pods of the node.
      const owners = subjects.filter((one) => kindOf(one) === "workload").flatMap(namedOwners);
      if (named.size + owners.length > PODS_MAX && count > 0) break;
      for (const { namespace, pod } of owners.slice(0, PODS_MAX - named.size))
        named.set(nameIn(namespace, pod), { namespace, pod });
      count += 1;
    }
    if (named.size === 0) return count;
    const names = [...named.values()];
    await this.#look(
      () => this.#source.readPods(names, { machines: false }),
      "cluster",
      new Set(named.keys()),
    );
    return count;
  }

  /** Whether the last look that speaks of an address called it absent everywhere. */
  callsAbsent(subject: LeakSubject, kind: LeakKind): boolean {
    if (!KINDS.has(kind)) return true;
    const words = this.#evidence.map((one) => one.says(subject, kind)).filter((word) => word !== "silent");
    return words.at(-1) === "absent";
  }

  /** Whether looks failed, and the last that speaks of an address does not say how it is. */
  leavesOpen(subject: LeakSubject, kind: LeakKind): boolean {
    if (!this.hasFailed || !KINDS.has(kind)) return false;
    const words = this.#evidence.map((one) => one.says(subject, kind)).filter((word) => word !== "silent");
    const last = words.at(-1) ?? "unknown";
    return last === "unknown" || last === "unlisted";
  }

  async #look(ask: () => Promise<PodsLook>, scope: ClusterView["scope"], read?: ReadonlySet<string>) {
    const said = await once(this.#host, ask, LOOK_MS);
    if (said.kind !== "answered") {
      this.hasFailed = true;
      return;
    }
    const { takenAt, complete, pods, unreadable, machines, requests, what } = said.value;
    this.what ??= what;
    this.requests += requests;
    // Also of a look that ended something may not have been readable: a pod, or all machines.
    if (!complete || what !== undefined) this.hasFailed = true;
    if (read === undefined) this.#inUse = addressesInUse(pods);
    const view: ClusterView = {
      complete,
      scope,
      pods,
      unreadable,
      inUse: this.#inUse,
      ...(read === undefined ? {} : { read }),
      ...(machines === undefined ? {} : { machines }),
    };
    const mark = { generation: 0, sequence: this.#nextCount(takenAt), takenAt };
    this.#evidence.push(kubernetesEvidence(mark, view));
    if (pods.length > 0) this.lastTold = { ...mark, source: "kubernetes" };
  }
}

/**
 * An earlier look, of which only its time is known.
 * Why: where the cluster does not answer now, what others called absent before that look may not count again.
 */
function forgotten(mark: Mark): Evidence {
  const says: Evidence["says"] = (_, kind) => (kind === "workload" ? "unlisted" : "silent");
  return { mark, isHostBound: false, says, forgottenAt: mark.takenAt };
}

/** What a look tells of life, and of nothing else. */
function onlyLife({ says, ...rest }: Evidence): Evidence {
  return { ...rest, says: (subject, kind) => (says(subject, kind) === "alive" ? "alive" : "silent") };
}
