/**
 * A Kubernetes API server as a source of evidence: which pods, nodes and virtual machines there are.
 * May import: core, gc. Rule: only what was read to its end, or refused by the server itself, is ever absent.
 */
import type { MachineFacts, PodFact } from "../core/leak-kubernetes.ts";
import { nameIn } from "../core/leak-subject.ts";
import type { ClusterSource, NodeLook, NodesPage, PodsLook } from "../rpc/cluster-source.ts";
import { apiAddress, BAD_REQUEST, type KubernetesAccess, Look, type Question } from "./kubernetes-client.ts";
import { KUBERNETES_LIMITS, type KubernetesLimits } from "./kubernetes-limits.ts";
import { listAll, MALFORMED } from "./kubernetes-lists.ts";
import { lookAtMachines, type MachinesLook, type MachinesMemory } from "./kubernetes-machines.ts";
import {
  field,
  METADATA,
  METADATA_LIST,
  nodeOf,
  pageOf,
  podOf,
  saysNotFound,
  textAt,
  WHOLE,
} from "./kubernetes-objects.ts";

export interface KubernetesOptions extends Omit<KubernetesAccess, "limits"> {
  readonly limits?: Partial<KubernetesLimits>;
  /** Given: virtual machines are asked for too, and remembered there for the hosts of a tour. */
  readonly machines?: MachinesMemory;
}

type PodName = { readonly namespace: string; readonly pod: string };

/** Makes the source. Rejects: an address that `apiAddress` does not take. */
export function kubernetesSource(options: KubernetesOptions): ClusterSource {
  const limits = { ...KUBERNETES_LIMITS, ...options.limits };
  const address = apiAddress(options.url);
  if ("fault" in address) throw new Error(`the address of the API server ${address.fault}`);
  const access: KubernetesAccess = { ...options, limits };
  return new KubernetesSource(access, address.base, options.machines);
}

class KubernetesSource implements ClusterSource {
  readonly #access: KubernetesAccess;
  readonly #base: string;
  readonly #machines: MachinesMemory | undefined;

  constructor(access: KubernetesAccess, base: string, machines: MachinesMemory | undefined) {
    this.#access = access;
    this.#base = base;
    this.#machines = machines;
  }

  async podsOn(node: string): Promise<PodsLook> {
    const { now, sleep, limits } = this.#access;
    const takenAt = now();
    // Without a name it would be the list of pods that are on no node.
    if (node === "") return lookOf(takenAt, { what: "the node has no name" }, []);
    const look = this.#begin();
    let isOfNode = true;
    const question = {
      path: "/api/v1/pods",
      query: { fieldSelector: `spec.nodeName=${escaped(node)}` },
      accept: WHOLE,
      need: "list pods",
      kinds: ["PodList"],
    };
    const take = (item: unknown): PodFact | undefined => {
      isOfNode &&= nodeOf(item) === node;
      return podOf(item);
    };
    const { items, isComplete, what } = await listAll(look, question, take, limits);
    const looks = [look];
    const begin = (): Look => {
      const own = this.#begin();
      looks.push(own);
      return own;
    };
    const machines = await this.#machines?.forHost(node, begin, { now, sleep }, limits);
    const complete = isComplete && isOfNode;
    const word = isComplete && !isOfNode ? "pods of other nodes in the list" : what;
    return lookOf(takenAt, { pods: items, complete, what: word }, looks, machines);
  }

  async readPods(
    names: readonly PodName[],
    options: { readonly machines?: boolean } = {},
  ): Promise<PodsLook> {
    const { now, limits } = this.#access;
    const takenAt = now();
    const look = this.#begin();
    const wanted = [...new Map(names.map((one) => [nameIn(one.namespace, one.pod), one])).entries()];
    const unreadable = new Set(wanted.map(([name]) => name));
    const pods: PodFact[] = [];
    const queue = wanted.slice(0, limits.readsMax);
    let what = wanted.length > queue.length ? "too many pods to read" : undefined;
    let isOver = false;
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined && !isOver; next = queue.shift()) {
        const [name, one] = next;
        const read = await readPod(look, one);
        if (read.kind === "unreadable") {
          what ??= read.what;
          isOver ||= read.isRefused;
          continue;
        }
        unreadable.delete(name);
        if (read.kind === "found") pods.push(read.pod);
      }
    };
    await Promise.all(Array.from({ length: limits.readsAtOnce }, work));
    const looks = [look];
    const isAsked = this.#machines !== undefined && options.machines !== false;
    if (isAsked) looks.push(this.#begin());
    // Right before a release only a look that begins now will do.
    const machines = isAsked ? await lookAtMachines(looks[1] ?? look, now(), limits) : undefined;
    return lookOf(takenAt, { pods, complete: true, unreadable, what }, looks, machines);
  }

  async readNode(node: string): Promise<NodeLook> {
    const path = pathOf("/api/v1/nodes", node);
    if (path === undefined) return "unreadable";
    const reply = await this.#begin().get({ path, accept: METADATA, need: "get nodes" });
    if (reply.kind === "not_found")
      return saysNotFound(reply.body, "nodes", node) ? "not_found" : "unreadable";
    const isNode =
      reply.kind === "answered" &&
      isKind(reply.body, "Node", "PartialObjectMetadata") &&
      textAt(reply.body, "metadata", "name") === node;
    return isNode ? "found" : "unreadable";
  }

  async listNodes(cursor?: string): Promise<NodesPage> {
    const { limits } = this.#access;
    const from = cursor === undefined ? undefined : placeOf(cursor);
    if (cursor !== undefined && from === undefined) return { kind: "expired" };
    const question: Question = {
      path: "/api/v1/nodes",
      query: { limit: `${limits.pageSizes[0]}`, ...(from === undefined ? {} : { continue: from.token }) },
      accept: METADATA_LIST,
      need: "list nodes",
    };
    const reply = await this.#begin().get(question);
    // A place that a server no longer understands is as good as gone.
    const isRejected = reply.kind === "failed" && reply.what === BAD_REQUEST && from !== undefined;
    if (reply.kind === "gone" || isRejected) return { kind: "expired" };
    if (reply.kind === "not_found") return { kind: "unreadable", what: "not found" };
    if (reply.kind === "failed") return { kind: "unreadable", what: reply.what };
    const page = pageOf(reply.body, ["NodeList", "PartialObjectMetadataList"]);
    const names = page?.items.map((item) => textAt(item, "metadata", "name"));
    if (page === undefined || names === undefined || !names.every((name) => name !== undefined)) {
      return { kind: "unreadable", what: MALFORMED };
    }
    if (from !== undefined && from.version !== page.version) return { kind: "expired" };
    const next = page.next === undefined ? {} : { next: cursorOf(page.version, page.next) };
    return { kind: "page", names, ...next };
  }

  #begin(): Look {
    return new Look(this.#access, this.#base);
  }
}

interface PodsFound {
  readonly pods?: readonly PodFact[];
  readonly complete?: boolean;
  readonly unreadable?: ReadonlySet<string>;
  readonly what?: string | undefined;
}

/** Puts a look together; it is as old as its oldest part. */
function lookOf(
  startedAt: number,
  { pods = [], complete = false, unreadable = new Set(), what }: PodsFound,
  looks: readonly Look[],
  machines?: MachinesLook,
): PodsLook {
  const facts: MachineFacts | undefined = machines?.facts;
  const word = what ?? machines?.what;
  return {
    takenAt: facts === undefined ? startedAt : Math.min(startedAt, machines?.takenAt ?? startedAt),
    complete,
    pods,
    unreadable,
    requests: looks.reduce((sum, { requests }) => sum + requests, 0),
    ...(facts === undefined ? {} : { machines: facts }),
    ...(word === undefined ? {} : { what: word }),
  };
}

type PodRead =
  | { readonly kind: "found"; readonly pod: PodFact }
  | { readonly kind: "not_found" }
  | { readonly kind: "unreadable"; readonly what: string; readonly isRefused: boolean };

async function readPod(look: Look, { namespace, pod }: PodName): Promise<PodRead> {
  const unreadable = (what: string, isRefused = false): PodRead => ({ kind: "unreadable", what, isRefused });
  const path = pathOf("/api/v1/namespaces", namespace, "pods", pod);
  if (path === undefined) return unreadable("a name that cannot be asked for");
  const reply = await look.get({ path, accept: WHOLE, need: "get pods" });
  if (reply.kind === "failed") return unreadable(reply.what, reply.isRefused);
  if (reply.kind === "not_found" && saysNotFound(reply.body, "pods", pod)) return { kind: "not_found" };
  if (reply.kind !== "answered") return unreadable("not found, by another than the API server");
  const found = isKind(reply.body, "Pod") ? podOf(reply.body) : undefined;
  const isAsAsked = found?.namespace === namespace && found.name === pod;
  return found !== undefined && isAsAsked ? { kind: "found", pod: found } : unreadable("no pod as expected");
}

function isKind(body: unknown, ...kinds: readonly string[]): boolean {
  return kinds.some((kind) => field(body, "kind") === kind);
}

/** A path of names; a name that would change the path itself cannot be asked for. */
function pathOf(start: string, ...names: readonly string[]): string | undefined {
  if (names.some((name) => name === "" || name === "." || name === "..")) return undefined;
  return [start, ...names.map(encodeURIComponent)].join("/");
}

/** A value in a field selector, where these characters have a meaning. */
function escaped(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`);
}

/** The place in a list of nodes, with the version that all of its pages must have. */
function cursorOf(version: string, token: string): string {
  return `${encodeURIComponent(version)} ${token}`;
}

function placeOf(cursor: string): { readonly version: string; readonly token: string } | undefined {
  const [, version = "", token] = /^(\S+) (.+)$/s.exec(cursor) ?? [];
  try {
    return token === undefined ? undefined : { version: decodeURIComponent(version), token };
  } catch {
    return undefined;
  }
}
