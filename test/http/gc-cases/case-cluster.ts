/**
 * The cluster of a case behind an API server, for what only a cluster can tell: machines, nodes, pods elsewhere.
 * May import: the API server of the tests, the cluster in memory. Rule: it only says what is there.
 */
import { type ClusterAccess, readClusterAccess } from "../../../src/tools/cluster-access.ts";
import type { LeakWorld } from "../../core/leak-world.ts";
import { ApiServer } from "../../support/api-server.ts";
import { type Listening, listen } from "../../support/api-server-http.ts";

/** Seconds between the sweeps by which a node is lost: missed in a list, and a minute later still not there. */
const AGAIN = 70;

export class CaseCluster {
  readonly #api: ApiServer;
  readonly #server: Listening;
  readonly access: ClusterAccess;

  private constructor(api: ApiServer, server: Listening, access: ClusterAccess) {
    this.#api = api;
    this.#server = server;
    this.access = access;
  }

  static async start(): Promise<CaseCluster> {
    const api = new ApiServer();
    api.token = "s3cret";
    const server = await listen(api);
    const access = readClusterAccess({
      KUBERNETES_API_URL: server.url,
      KUBERNETES_TOKEN: api.token,
      KUBERNETES_VIRTUAL_MACHINES: "on",
    });
    if (access === undefined) throw new Error("no access to the cluster");
    return new CaseCluster(api, server, access);
  }

  async stop(): Promise<void> {
    await this.#server.close();
  }

  /** Before anything is lost there is a node for every host: one that was never seen is of no cluster. */
  begin(world: LeakWorld, lost: readonly string[]): void {
    this.show(world);
    for (const host of lost) this.#api.putNode(host);
  }

  /** All of these are there no more. */
  lose(hosts: readonly string[]): void {
    for (const host of hosts) this.#api.deleteNode(host);
  }

  /** The API server has what the cluster has, and nothing else. */
  show(world: LeakWorld): void {
    const api = this.#api;
    // A cluster without any node would not be believed.
    api.putNode("of-no-host");
    for (const name of world.lostAt.keys()) api.deleteNode(name);
    for (const { k8s } of world.nodes.values()) {
      if (k8s === null) continue;
      if (world.kubernetesNodes.has(k8s)) api.putNode(k8s);
      else api.deleteNode(k8s);
    }
    for (const pod of this.#pods) if (!world.listed.has(pod)) this.#forget(pod);
    for (const [name, { ns, name: pod, node, ips, phase }] of world.listed) {
      this.#pods.add(name);
      api.putPod(ns, pod, node, ips, phase === undefined ? {} : { status: { phase } });
    }
    for (const { kind, ns, name, owned_by_vm: isOwned } of world.vms) {
      if (kind === "VM") api.putMachine(ns, name);
      else api.putInstance(ns, name, isOwned === true);
    }
  }

  /** When the cluster is asked for one sync, in seconds from its own; `lost`: nodes that have just gone. */
  sweepsFor(lost: number): readonly number[] {
    return lost === 0 ? [0] : [0, AGAIN, 2 * AGAIN];
  }

  readonly #pods = new Set<string>();

  #forget(name: string): void {
    const [namespace = "", pod = ""] = name.split("/");
    this.#pods.delete(name);
    this.#api.deletePod(namespace, pod);
  }
}
