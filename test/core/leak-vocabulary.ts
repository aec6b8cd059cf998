/**
 * The words of the leak collector's cases (`test/conformance/cases/gc.jsonl`), as far as the judgement reads them.
 * May import: nothing. Times are seconds on one clock.
 */

export interface PodGiven {
  readonly ns: string;
  readonly name: string;
  readonly node: string;
  readonly ips: readonly string[];
  readonly phase?: string;
}

export interface VmGiven {
  readonly kind: "VM" | "VMI";
  readonly ns: string;
  readonly name: string;
  readonly owned_by_vm?: boolean;
}

export interface BlockGiven {
  readonly cidr: string;
  readonly affinity: string | null;
}

/** Without a handle it is an address that cools since `released_at`. */
export interface AllocationGiven {
  readonly ip: string;
  readonly handle: string | null;
  readonly node: string | null;
  readonly attrs: Readonly<Record<string, string>>;
  readonly seq: number;
  readonly released_at?: number;
}

export interface ConfigGiven {
  readonly leak_grace_s?: number | null;
  readonly cooldown_s?: number;
  readonly release_batch?: number;
  readonly kubevirt_installed?: boolean;
  readonly datastore_ready?: boolean;
  readonly in_sync?: boolean;
}

export interface Given {
  readonly nodes: readonly {
    readonly name: string;
    readonly k8s: string | null;
    readonly k8s_exists?: boolean;
    readonly labels?: Readonly<Record<string, string>>;
  }[];
  readonly k8s_nodes?: readonly string[];
  readonly pods: readonly PodGiven[];
  readonly vms: readonly VmGiven[];
  readonly blocks: readonly BlockGiven[];
  readonly allocations: readonly AllocationGiven[];
  readonly config: ConfigGiven;
}

/** What a step expects, by name: sets of addresses, blocks or hosts, counts, or a result. */
export type Expectation = Readonly<Record<string, unknown>>;

export interface StepGiven {
  readonly at_seconds: number;
  readonly op: string;
  readonly expect: Expectation;
  readonly [argument: string]: unknown;
}

export interface LeakCase {
  readonly id: string;
  readonly why: string;
  readonly deviate?: string;
  readonly given: Partial<Given>;
  readonly steps: readonly StepGiven[];
}
