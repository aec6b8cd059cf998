/**
 * What the collector asks a Kubernetes API server, as its callers see it. Types only.
 * Rule: every answer says whether it is complete; what could not be read is never an absence.
 */
import type { MachineFacts, PodFact } from "../core/leak-kubernetes.ts";

/** The pods of one node, or those that were read by name. Units: milliseconds since 1970. */
export interface PodsLook {
  /** When the first request was sent. */
  readonly takenAt: number;
  /** The list ran to its end at one version. */
  readonly complete: boolean;
  readonly pods: readonly PodFact[];
  /** Names, as `nameIn` makes them, that could not be read. */
  readonly unreadable: ReadonlySet<string>;
  readonly machines?: MachineFacts;
  /** Requests that it took. */
  readonly requests: number;
  /** Why something could not be read, as a word for operators: the first reason. */
  readonly what?: string;
}

export type NodeLook = "found" | "not_found" | "unreadable";

/** One page of the list of nodes. */
export type NodesPage =
  | { readonly kind: "page"; readonly names: readonly string[]; readonly next?: string }
  /** The list must begin anew: its version is gone (410). */
  | { readonly kind: "expired" }
  | { readonly kind: "unreadable"; readonly what: string };

export interface ClusterSource {
  podsOn(node: string): Promise<PodsLook>;
  /**
   * Reads each pod by its name, in the whole cluster; for a re-check right before a release.
   * `machines: false`: none of them is a machine's, so machines need not be listed.
   */
  readPods(
    names: readonly { readonly namespace: string; readonly pod: string }[],
    options?: { readonly machines?: boolean },
  ): Promise<PodsLook>;
  readNode(node: string): Promise<NodeLook>;
  /** `cursor` as a page before gave it; absent: from the beginning. */
  listNodes(cursor?: string): Promise<NodesPage>;
}
