/**
 * What is taken from the objects of a Kubernetes API server: pods, names, pages of lists, "not found".
 * May import: core. Rule: what is not as it must be is undefined, so that nothing rests on it.
 */
import type { PodFact } from "../core/leak-kubernetes.ts";

/** What a question accepts: whole objects, or their metadata where the server can leave out the rest. */
export const WHOLE = "application/json";
export const METADATA_LIST = `application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${WHOLE}`;
export const METADATA = `application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${WHOLE}`;

const NETWORKS = "k8s.v1.cni.cncf.io/networks";
const NETWORK_STATUS = ["k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status"];
/** Stands for addresses that a pod has and does not tell; as it is none itself, nothing of the pod is absent. */
const UNTOLD = "untold";

/** One page of a list. */
export interface ListPage {
  readonly version: string;
  readonly items: readonly unknown[];
  /** Absent: the last page. */
  readonly next?: string;
}

/** The value of a field, or undefined where there is none. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}

/** A text with at least one character. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const text = field(value, ...path);
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Reads a page. `kinds`: what it may be. Rejects: a page without items or version, or one that ends too soon. */
export function pageOf(body: unknown, kinds: readonly string[]): ListPage | undefined {
  const version = textAt(body, "metadata", "resourceVersion");
  const items = field(body, "items");
  const next = textAt(body, "metadata", "continue");
  const remaining = field(body, "metadata", "remainingItemCount");
  if (!kinds.includes(textAt(body, "kind") ?? "") || version === undefined || !Array.isArray(items)) {
    return undefined;
  }
  if (next === undefined && typeof remaining === "number" && remaining > 0) return undefined;
  return { version, items, ...(next === undefined ? {} : { next }) };
}

/** Tells whether an answer is the API server's own word that this very object does not exist. */
export function saysNotFound(body: unknown, resource: string, name: string): boolean {
  return (
    field(body, "kind") === "Status" &&
    field(body, "reason") === "NotFound" &&
    field(body, "code") === 404 &&
    field(body, "details", "kind") === resource &&
    field(body, "details", "name") === name
  );
}

/** Reads a pod. One that is being deleted is as good as any until it is gone or has finished. */
export function podOf(item: unknown): PodFact | undefined {
  const namespace = textAt(item, "metadata", "namespace");
  const name = textAt(item, "metadata", "name");
  if (namespace === undefined || name === undefined) return undefined;
  const uid = textAt(item, "metadata", "uid");
  const phase = textAt(item, "status", "phase");
  const createdAt = Date.parse(textAt(item, "metadata", "creationTimestamp") ?? "");
  return {
    namespace,
    name,
    addresses: [...new Set([...ownAddresses(item), ...networkAddresses(item)])],
    ...(uid === undefined ? {} : { uid }),
    ...(phase === undefined ? {} : { phase }),
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
  };
}

/** The node that a pod is bound to. */
export function nodeOf(item: unknown): string | undefined {
  return textAt(item, "spec", "nodeName");
}

/** On its node's network these are the node's addresses, and then it has no other. */
function ownAddresses(item: unknown): string[] {
  const several = field(item, "status", "podIPs");
  const one = field(item, "status", "podIP");
  const all = Array.isArray(several) ? several.map((entry) => field(entry, "ip")) : [];
  return texts([...all, one]);
}

/**
 * Addresses on further networks, which the status of a pod does not hold.
 * Why: a pod that lives would seem not to use them.
 */
function networkAddresses(item: unknown): string[] {
  const annotations = field(item, "metadata", "annotations");
  const told = NETWORK_STATUS.flatMap((name) => textAt(annotations, name) ?? [])[0];
  const wanted = textAt(annotations, NETWORKS)?.trim() ?? "";
  if (told === undefined) return wanted === "" || wanted === "[]" ? [] : [UNTOLD];
  const networks = parsed(told);
  if (!Array.isArray(networks)) return [UNTOLD];
  const addresses = networks.flatMap((network) => {
    const ips = field(network, "ips");
    return Array.isArray(ips) ? ips : [];
  });
  const further = networks.filter((network) => field(network, "default") !== true);
  const left = further.length < wantedOf(wanted) ? [UNTOLD] : [];
  return [...texts(addresses).map((text) => text.replace(/\/\d+$/, "")), ...left];
}

/** How many further networks a pod asks for: names with commas between them, or a list of objects. */
function wantedOf(text: string): number {
  if (!text.startsWith("[")) return text.split(",").filter((name) => name.trim() !== "").length;
  const list = parsed(text);
  return Array.isArray(list) ? list.length : Number.POSITIVE_INFINITY;
}

/** What is there and no text cannot be an address that we know. */
function texts(values: readonly unknown[]): string[] {
  const present = values.filter((value) => value !== undefined && value !== null && value !== "");
  return present.map((value) => (typeof value === "string" ? value : UNTOLD));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
