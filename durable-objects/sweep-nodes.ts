/**
 * Nodes of a cluster as the Sweep sees them: a list once per sweep, a direct look at those that it misses.
 * May import: core, rpc, gc, platform, storage. Rule: a list that is not complete says nothing, and a host
 * whose node was never seen is no node: it is not missing.
 */
import { NODE_LOSS_MS, type NodeSighting } from "../src/core/leak-host.ts";
import type { ClusterSource, NodeLook, NodesPage } from "../src/rpc/cluster-source.ts";
import type { CheckCalls } from "./check-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { NodeRow, SweepRows } from "./storage/sweep-rows.ts";
import type { SweepState, Tour } from "./sweep-state.ts";

/** How often a list begins anew in one sweep before it is left to the next. */
const ANEW_MAX = 3;
/** Pages of one list: 100,000 nodes. Why: a server that ignores where to go on would be listed for ever. */
const PAGES_MAX = 200;
/** Characters of the names of a page and of the place after it: a row takes no more than 2 MB. */
const PAGE_CHARACTERS_MAX = 500_000;
/** Steps of a call that a look at the cluster may take: it has time limits of its own. */
const LOOK_STEPS = 8;

/** What was found out about a host's node. `seenAt` in milliseconds since 1970. */
export interface NodeFacts {
  readonly node: NodeRow;
  readonly seenAt?: number;
}

export class SweepNodes {
  readonly #runtime: Runtime;
  readonly #rows: SweepRows;
  readonly #state: SweepState;

  constructor(runtime: Runtime, rows: SweepRows, state: SweepState) {
    this.#runtime = runtime;
    this.#rows = rows;
    this.#state = state;
  }

  /** Asks for the next page. Absent: the cluster did not answer. */
  async page({ after }: Tour, calls: CheckCalls): Promise<NodesPage | undefined> {
    const { cluster } = this.#runtime;
    if (cluster === undefined) return undefined;
    return await calls.maybe(() => cluster.listNodes(after), LOOK_STEPS);
  }

  /** Takes a page over; in the transaction of the sweep's step. `askedAt`: before it was asked for. */
  keep(tour: Tour, page: NodesPage | undefined, askedAt: number): Tour {
    const { after, list = { takenAt: askedAt, pages: 0, begunAnew: 0 }, ...rest } = tour;
    const hosts: Tour = { ...rest, phase: "hosts" };
    const fault = faultOf(page, list.pages);
    if (page === undefined || page.kind === "unreadable" || fault !== undefined) {
      this.#state.put("fault", { at: askedAt, what: `nodes of the cluster: ${fault}` });
      return hosts;
    }
    if (page.kind === "expired") {
      if (list.begunAnew >= ANEW_MAX) return hosts;
      return { ...rest, list: { takenAt: askedAt, pages: 0, begunAnew: list.begunAnew + 1 } };
    }
    const takenAt = after === undefined ? askedAt : list.takenAt;
    if (after === undefined) this.#rows.clearNodes();
    this.#rows.addNodes(list.pages, page.names);
    if (page.next !== undefined) {
      return { ...rest, after: page.next, list: { ...list, takenAt, pages: list.pages + 1 } };
    }
    this.#rows.nodesListed(takenAt);
    this.#rows.clearNodes();
    this.#state.put("nodes", { listedAt: takenAt });
    return hosts;
  }

  /** Looks for the node of a host that is missing, or that was never seen. */
  async look(host: string, node: NodeRow, calls: CheckCalls): Promise<NodeFacts> {
    const { cluster } = this.#runtime;
    const askedAt = this.#runtime.now();
    const isMissing = node.missingSince !== undefined && askedAt - node.missingSince >= NODE_LOSS_MS;
    if (cluster === undefined || (node.wasSeen && !isMissing)) return { node };
    return lookedAt(node, await directly(cluster, host, calls), askedAt);
  }

  /** What a Host is told of its node. */
  sighting({ node, seenAt }: NodeFacts): NodeSighting | undefined {
    if (this.#runtime.cluster === undefined || !node.wasSeen) return undefined;
    const { missingSince, notFoundAt, isUnreadable } = node;
    const listedAt = missingSince === undefined ? this.#state.read("nodes")?.listedAt : undefined;
    const seen = seenAt ?? listedAt;
    return {
      ...(missingSince === undefined ? {} : { missingSince }),
      ...(notFoundAt === undefined ? {} : { notFoundAt }),
      ...(seen === undefined ? {} : { seenAt: seen }),
      ...(isUnreadable ? { isUnreadable } : {}),
    };
  }
}

/** Why a page is not taken over; undefined: it is, or the list begins anew. */
function faultOf(page: NodesPage | undefined, pages: number): string | undefined {
  if (page === undefined) return "no answer";
  if (page.kind === "unreadable") return page.what;
  if (page.kind === "expired") return undefined;
  if (pages >= PAGES_MAX) return "too many pages";
  const characters = page.names.reduce((sum, name) => sum + name.length, page.next?.length ?? 0);
  return characters > PAGE_CHARACTERS_MAX ? "answer too large" : undefined;
}

async function directly(cluster: ClusterSource, host: string, calls: CheckCalls): Promise<NodeLook> {
  return (await calls.maybe(() => cluster.readNode(host), LOOK_STEPS)) ?? "unreadable";
}

function lookedAt(node: NodeRow, look: NodeLook, askedAt: number): NodeFacts {
  if (look === "found") return { node: { wasSeen: true, isUnreadable: false }, seenAt: askedAt };
  // Of a host that was never seen nothing is kept: it may be no node of this cluster.
  if (!node.wasSeen) return { node };
  if (look === "unreadable") return { node: { ...node, isUnreadable: true } };
  return { node: { ...node, notFoundAt: askedAt, isUnreadable: false } };
}
