/**
 * The words of the cases: what a case looks like, and what a back end is asked. Types only.
 * May import: nothing. The meaning of each operation stands in README.md.
 */

export type BackendName = "model" | "objects" | "http";

export interface PoolRecord {
  readonly name: string;
  readonly cidr: string;
  readonly blockSize?: number;
  readonly disabled?: boolean;
  readonly terminating?: boolean;
  readonly nodeSelector?: string;
  readonly namespaceSelector?: string;
  readonly allowedUses?: readonly string[];
  readonly assignmentMode?: string;
  readonly ipipMode?: string;
  readonly vxlanMode?: string;
  readonly natOutgoing?: boolean;
}

export interface ReservationRecord {
  readonly name: string;
  readonly reservedCIDRs: readonly string[];
}

export interface HostRecord {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ConfigArgs {
  readonly strictAffinity?: boolean;
  readonly autoAllocateBlocks?: boolean;
  readonly maxBlocksPerHost?: number;
  readonly ipCooldownSeconds?: number;
  readonly kubeVirtVMAddressPersistence?: string;
}

/** Raw records of a crash or of old data: what no operation would leave behind. */
export interface RawState {
  readonly blocks?: readonly RawBlock[];
  readonly affinities?: readonly RawAffinity[];
  /** Per handle: how many addresses each block is said to hold. */
  readonly handles?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface RawBlock {
  readonly cidr: string;
  /** `host:<name>`, `virtual:<name>` or null. */
  readonly affinity: string | null;
  readonly claimedSecondsAgo?: number;
  readonly sequenceNumber?: number;
  readonly allocations?: readonly RawAllocation[];
}

export interface RawAllocation {
  readonly ip: string;
  readonly handle?: string;
  readonly sequence?: number;
  readonly releasedSecondsAgo?: number;
}

export interface RawAffinity {
  readonly host: string;
  readonly type: string;
  readonly cidr: string;
  readonly state: string;
}

/** The world in which a case begins; what is absent is not there. */
export interface Given {
  readonly hosts?: readonly HostRecord[];
  readonly pools?: readonly PoolRecord[];
  readonly reservations?: readonly ReservationRecord[];
  readonly config?: ConfigArgs;
  readonly state?: RawState;
}

export interface Step {
  readonly op: OperationName;
  readonly args: Readonly<Record<string, unknown>>;
  readonly expect: Readonly<Record<string, unknown>>;
  readonly save?: string;
}

export interface Case {
  readonly id: string;
  readonly area: string;
  readonly given: Given;
  readonly steps: readonly Step[];
  readonly why: string;
  readonly verified: string;
  readonly mayDiffer?: boolean;
  readonly recommend?: string;
  readonly internal?: boolean;
}

/** Addresses of each block that are set aside for its host. */
export interface SetAside {
  readonly start: number;
  readonly end: number;
  readonly handle?: string;
  readonly note?: string;
}

type Labels = Readonly<Record<string, string>>;

/** Who may own a block; absent means a host. */
export type OwnerType = "host" | "virtual";

/** The arguments of every operation; which of them are hooks of the test is said in README.md. */
export interface Arguments {
  autoAssign: {
    readonly host: string;
    readonly num4?: number;
    readonly num6?: number;
    readonly handle?: string;
    readonly attrs?: Labels;
    readonly use?: string;
    readonly pools4?: readonly string[];
    readonly pools6?: readonly string[];
    readonly namespaceLabels?: Labels;
    readonly maxBlocksPerHost?: number;
    readonly maxAllocPerHandlePerVersion?: number;
    readonly hostReserved4?: SetAside;
    readonly hostReserved6?: SetAside;
    /** Absent: what there is of it is welcome, as upstream has it. */
    readonly partial?: boolean;
  };
  assignIp: {
    readonly host: string;
    readonly ip: string;
    readonly handle?: string;
    readonly attrs?: Labels;
    readonly use?: string;
    readonly maxAllocPerHandlePerVersion?: number;
  };
  releaseIps: { readonly releases: readonly ReleaseArgs[] };
  releaseByHandle: { readonly handle: string };
  ipsByHandle: { readonly handle: string };
  getAttributes: { readonly ip: string };
  setOwnerAttributes: {
    readonly ip: string;
    readonly handle: string;
    readonly updates: OwnerUpdates | null;
    readonly preconditions?: OwnerPreconditions;
  };
  claimAffinity: { readonly host: string; readonly cidr: string; readonly type?: OwnerType };
  releaseAffinity: { readonly host: string; readonly cidr: string; readonly mustBeEmpty?: boolean };
  releaseBlockAffinity: { readonly cidr: string; readonly mustBeEmpty?: boolean };
  releaseHostAffinities: {
    readonly host: string;
    readonly type?: OwnerType;
    readonly mustBeEmpty?: boolean;
  };
  releasePoolAffinities: { readonly cidr: string };
  removeHost: { readonly host: string };
  ensureBlock: {
    readonly host: string;
    readonly hostReserved4?: SetAside;
    readonly hostReserved6?: SetAside;
    readonly pools4?: readonly string[];
    readonly pools6?: readonly string[];
  };
  getConfig: Record<never, never>;
  setConfig: ConfigArgs;
  configStored: Record<never, never>;
  utilization: { readonly pools?: readonly string[] };
  gcColdIps: { readonly cidr: string };
  countReserved: { readonly cidr: string };
  vmHandleId: { readonly network?: string; readonly namespace: string; readonly vm: string };
  promoteVmOwner: {
    readonly network: string;
    readonly namespace: string;
    readonly vm: string;
    readonly targetPod: string;
  };
  selector: { readonly expression: string; readonly labels: Labels };
  createPool: PoolRecord;
  updatePool: PoolRecord;
  deletePool: { readonly name: string };
  applyPool: PoolRecord;
  removePool: { readonly name: string };
  applyHost: HostRecord;
  setReservations: { readonly reservations: readonly ReservationRecord[] };
  advanceTime: { readonly seconds: number };
  readAllocation: { readonly ip: string };
  inspectBlocks: Record<never, never>;
  inspectAffinities: { readonly host?: string };
  inspectHandles: Record<never, never>;
}

export interface ReleaseArgs {
  readonly ip: string;
  readonly handle?: string;
  readonly sequence?: number;
}

export interface OwnerUpdates {
  readonly activeOwner?: Labels;
  readonly alternateOwner?: Labels;
  readonly clearActiveOwner?: boolean;
  readonly clearAlternateOwner?: boolean;
}

export interface OwnerPreconditions {
  readonly expectedActiveOwner?: Labels;
  readonly expectedAlternateOwner?: Labels;
  readonly verifyActiveOwnerEmpty?: boolean;
  readonly verifyAlternateOwnerEmpty?: boolean;
}

export type OperationName = keyof Arguments;

/** What was assigned in one family; the driver derives the keys that a case looks at. */
export interface Assigned {
  readonly addresses: readonly { readonly ip: string; readonly prefixLength: number }[];
  readonly requested: number;
  readonly reasons: readonly Readonly<Record<string, unknown>>[];
}

/** The kind is the case's word for it; further members are evidence, e.g. the pool. */
export interface CaseError {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** The outcome of a step. `v4` and `v6` of an assignment are `Assigned` or null. */
export interface Outcome {
  readonly error?: CaseError;
  readonly [member: string]: unknown;
}

export type Operations = {
  readonly [O in OperationName]: (args: Arguments[O]) => Promise<Outcome>;
};

/** One world under test. An operation that is not there yet is absent, or throws `NotYet`. */
export interface World extends Partial<Operations> {
  end(): Promise<void>;
}

/** What runs cases: makes a fresh world per case. */
export interface Backend {
  readonly name: BackendName;
  /** The operations that its worlds have. */
  readonly operations: ReadonlySet<OperationName>;
  /** Rejects: `NotYet` when such a state cannot be made, `GivenRefused` when it may not exist. */
  begin(given: Given): Promise<World>;
}

/** The back end cannot do that yet: the case is counted, neither passed nor failed. */
export class NotYet extends Error {}

/** The service refuses to enter the state that the case begins in. */
export class GivenRefused extends Error {}
