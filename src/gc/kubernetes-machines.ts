/**
 * The virtual machines of a cluster (KubeVirt) and their instances, as names, listed for all hosts of a tour.
 * May import: core, gc. Rule: a list serves a host once; what a host has seen is no news to it.
 */
import type { MachineFacts } from "../core/leak-kubernetes.ts";
import { nameIn } from "../core/leak-subject.ts";
import type { Look } from "./kubernetes-client.ts";
import type { KubernetesLimits } from "./kubernetes-limits.ts";
import { listAll } from "./kubernetes-lists.ts";
import { field, METADATA_LIST, textAt } from "./kubernetes-objects.ts";

/** Units: `takenAt` in milliseconds since 1970. */
export interface MachinesLook {
  readonly takenAt: number;
  /** Absent: not installed, or not readable; then no machine is judged. */
  readonly facts?: MachineFacts;
  readonly what?: string;
}

/** What a source needs to wait for another's look. */
export interface Pause {
  now(): number;
  sleep(ms: number): Promise<void>;
}

const PATH = "/apis/kubevirt.io/v1";
/** How often somebody who waits for the look of another one looks whether it has come, ms. */
const GLANCE_MS = 50;

/** The last look, shared by all objects of a process. It holds names only, and no pending work. */
export class MachinesMemory {
  #last: MachinesLook | undefined;
  readonly #served = new Set<string>();
  /** Until when somebody else is looking. */
  #busyUntil = 0;

  /** The last look if it is young enough and is news to that host; otherwise a new one, made with `begin`. */
  async forHost(
    node: string,
    begin: () => Look,
    pause: Pause,
    limits: KubernetesLimits,
  ): Promise<MachinesLook> {
    while (this.#busyUntil > pause.now()) await pause.sleep(GLANCE_MS);
    const last = this.#last;
    const isYoung = last !== undefined && pause.now() - last.takenAt <= limits.machinesMs;
    if (isYoung && last.takenAt <= pause.now() && !this.#served.has(node)) {
      this.#served.add(node);
      return last;
    }
    this.#busyUntil = pause.now() + limits.lookMs;
    try {
      const made = await lookAtMachines(begin(), pause.now(), limits);
      this.#last = made;
      this.#served.clear();
      this.#served.add(node);
      return made;
    } finally {
      this.#busyUntil = 0;
    }
  }
}

/** Lists all machines and instances. */
export async function lookAtMachines(
  look: Look,
  takenAt: number,
  limits: KubernetesLimits,
): Promise<MachinesLook> {
  const machines = await list(look, "virtualmachines", "VirtualMachineList", limits);
  if (!machines.isComplete) return { takenAt, what: wordOf(machines.what) };
  const instances = await list(look, "virtualmachineinstances", "VirtualMachineInstanceList", limits);
  if (!instances.isComplete) return { takenAt, what: wordOf(instances.what) };
  return {
    takenAt,
    facts: {
      machines: new Set(machines.items.map(({ name }) => name)),
      instances: new Map(instances.items.map(({ name, isOwnedByMachine }) => [name, { isOwnedByMachine }])),
    },
  };
}

/** Where KubeVirt is not installed the whole group is not found; a proxy that answers so is the same to us. */
function wordOf(what = "not readable"): string {
  return what === "not found" ? "virtual machines: KubeVirt is not installed" : `virtual machines: ${what}`;
}

function list(look: Look, resource: string, kind: string, limits: KubernetesLimits) {
  const question = {
    path: `${PATH}/${resource}`,
    accept: METADATA_LIST,
    need: `list ${resource}`,
    kinds: [kind, "PartialObjectMetadataList"],
  };
  return listAll(look, question, machineOf, limits);
}

interface NamedMachine {
  readonly name: string;
  readonly isOwnedByMachine: boolean;
}

function machineOf(item: unknown): NamedMachine | undefined {
  const namespace = textAt(item, "metadata", "namespace");
  const name = textAt(item, "metadata", "name");
  if (namespace === undefined || name === undefined) return undefined;
  const owners = field(item, "metadata", "ownerReferences");
  const isOwnedByMachine =
    Array.isArray(owners) && owners.some((owner) => field(owner, "kind") === "VirtualMachine");
  return { name: nameIn(namespace, name), isOwnedByMachine };
}
