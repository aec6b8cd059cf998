/**
 * What the operations of the collector's cases do to the cluster that the collector looks at.
 * May import: the cluster in memory. Rule: only a sync, and what a caller asks of the service, is not done here.
 */
import { nameIn } from "../../src/core/leak-subject.ts";
import type { AllocationGiven, BlockGiven, PodGiven, StepGiven } from "./leak-vocabulary.ts";
import type { LeakWorld } from "./leak-world.ts";

/** What each operation does to the cluster. */
export function changeWorld(world: LeakWorld, step: StepGiven): void {
  const name = String(step.name);
  switch (step.op) {
    case "pod_put":
      world.putPod(step.pod as PodGiven, step.views as readonly string[] | undefined);
      return;
    case "pod_delete":
      deletePod(world, nameIn(String(step.ns), name), step.event !== false);
      return;
    case "k8s_node_add":
      world.kubernetesNodes.add(name);
      world.nodes.set(world.hostOf(name) ?? name, {
        k8s: name,
        labels: (step.labels ?? {}) as Readonly<Record<string, string>>,
      });
      return;
    case "k8s_node_delete":
      deleteNode(world, name, step.calico_node_follows === true);
      return;
    case "calico_node_delete":
      world.nodes.delete(name);
      world.lostAt.set(name, world.now);
      return;
    case "block_put":
      world.putBlock(step.block as BlockGiven);
      return;
    case "block_delete":
      world.blocks.delete(String(step.cidr));
      for (const one of [...world.stored.keys()]) if (world.isOrphan(one)) world.dropAllocation(one);
      return;
    case "alloc_put":
      world.putAllocation(step.allocation as AllocationGiven, world.now, step.delivered !== false);
      return;
    case "alloc_delete":
      world.dropAllocation(String(step.ip));
      return;
    case "set_config":
      Object.assign(world.config, step.config);
      return;
    case "fail_lookup":
      failLookup(world, step);
      return;
    case "inject":
      if (step.target === "node_cleanup") world.failing.cleanups.add(String(step.key));
      return;
    case "clear_error":
      world.failing.cleanups.delete(String(step.key));
      return;
    case "is_migrating":
    case "pool_put":
    case "pool_delete":
      return;
    default:
      throw new Error(`no such operation of the judgement: ${step.op}`);
  }
}

function deletePod(world: LeakWorld, name: string, isTold: boolean): void {
  const pod = world.listed.get(name);
  world.listed.delete(name);
  world.live.delete(name);
  if (isTold && pod !== undefined) world.dirty.add(world.hostOf(pod.node) ?? pod.node);
}

function deleteNode(world: LeakWorld, kubernetesName: string, doesFollow: boolean): void {
  const host = world.hostOf(kubernetesName);
  world.kubernetesNodes.delete(kubernetesName);
  world.isFullDue = true;
  if (host === undefined) return;
  world.lostAt.set(host, world.now);
  if (doesFollow) world.nodes.delete(host);
}

function failLookup(world: LeakWorld, { kind, key }: StepGiven): void {
  if (kind === "calico_node") world.failing.nodes.add(String(key));
  else if (kind === "pod") world.failing.pods.add((key as readonly string[]).join("/"));
  else throw new Error(`no such look-up: ${String(kind)}`);
}
