/**
 * What a Host answers, made without one, so that the service around it can be measured.
 * May import: core, rpc types. Rule: as large as a real answer.
 */
import { ok, type Result } from "../src/core/result.ts";
import type {
  HostAllocateAnswer,
  HostAllocateManyRequest,
  HostAllocateRequest,
  TogetherOutcome,
} from "../src/rpc/host.ts";

export function canned({ host, handle, key }: HostAllocateRequest): Result<HostAllocateAnswer, never> {
  const [address, block] = ["10.64.0.1", "10.64.0.0/26"];
  const times = { sequenceNumber: 1, touch: 1, allocatedAt: 1_700_000_000_000 };
  const owner = { handle, key, host, use: "Workload", attributes: { node: host } } as const;
  const state = { family: 4, block, blockOwner: host, state: "allocated", leakCollection: "auto" } as const;
  const record = { address, ...state, ...owner, ...times };
  const placed = { record, pool: "bench", interfacePrefix: 26, reserved: false };
  return ok({ addresses: [placed], shortfall: [], replayed: false, reused: false });
}

export function cannedTogether({ items }: HostAllocateManyRequest): { outcomes: TogetherOutcome[] } {
  return { outcomes: items.map((request) => ({ kind: "done", outcome: canned(request) })) };
}
