/**
 * The port of a Block. Types only; its messages are plain data of the core.
 */
import type { BlockAudit, BlockAuditRequest } from "../core/block-audit.ts";
import type {
  AddressInspection,
  AllocateOutcome,
  AllocateRequest,
  BlockTarget,
  BlockView,
  ChangeOwnerAnswer,
  ChangeOwnerRequest,
  ClaimAnswer,
  ClaimRequest,
  DescribeRequest,
  HoldsAnswer,
  HoldsRequest,
  InspectRequest,
  ReleaseAddressesAnswer,
  ReleaseAddressesRequest,
  ReleaseAffinityAnswer,
  ReleaseAffinityRequest,
  ReleaseHandleAnswer,
  ReleaseHandleRequest,
  ReuseAnswer,
  ReuseRequest,
  UndoAnswer,
  UndoItem,
  UpdateOwnersAnswer,
  UpdateOwnersRequest,
} from "../core/block-messages.ts";
import type { BlockLeakPort } from "./leaks.ts";

export type * from "../core/block-audit.ts";
export type * from "../core/block-leaks.ts";
export type * from "../core/block-messages.ts";

export interface BlockPort extends BlockLeakPort {
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  releaseAffinity(request: ReleaseAffinityRequest): Promise<ReleaseAffinityAnswer>;
  allocate(request: AllocateRequest): Promise<{ readonly outcomes: readonly AllocateOutcome[] }>;
  undo(request: BlockTarget & UndoItem): Promise<UndoAnswer>;
  holds(request: HoldsRequest): Promise<HoldsAnswer>;
  reuse(request: ReuseRequest): Promise<ReuseAnswer>;
  releaseHandle(request: ReleaseHandleRequest): Promise<ReleaseHandleAnswer>;
  /** The same for several handles, in one commit; the answers in their order. */
  releaseHandles(request: {
    readonly block: string;
    readonly items: readonly ReleaseHandleRequest[];
  }): Promise<{ readonly answers: readonly ReleaseHandleAnswer[] }>;
  releaseAddresses(request: ReleaseAddressesRequest): Promise<ReleaseAddressesAnswer>;
  updateOwners(request: UpdateOwnersRequest): Promise<UpdateOwnersAnswer>;
  changeOwner(request: ChangeOwnerRequest): Promise<ChangeOwnerAnswer>;
  describe(request: DescribeRequest): Promise<BlockView>;
  inspect(request: InspectRequest): Promise<AddressInspection>;
  /** What a check compares with the index, the directory and the Hosts. */
  audit(request: BlockAuditRequest): Promise<BlockAudit>;
}
