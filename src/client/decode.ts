/**
 * Turns parsed JSON into the types of wire.ts: what a type promises is checked here, fields nobody knows stay.
 * May import: client only. Never throws: an answer of another shape is `undefined`.
 */
import type {
  Allocation,
  AllocationList,
  AllocationResult,
  AttachmentGcResult,
  FamilyReadiness,
  GcOutcome,
  HostReadiness,
  Problem,
  ReleaseOutcome,
  ReleaseResult,
} from "./wire.ts";

type Kind = "string" | "number" | "boolean" | "object";
type Shape = Readonly<Record<string, Kind | `${Kind}?`>>;

const ALLOCATION: Shape = {
  address: "string",
  interfaceAddress: "string",
  family: "number",
  pool: "string",
  block: "string",
  host: "string",
  handle: "string?",
  state: "string",
  attributes: "object",
  sequenceNumber: "number",
  allocatedAt: "string",
  gateway: "string?",
};
const RELEASE_OUTCOME: Shape = { address: "string", handle: "string?", outcome: "string", code: "string?" };
const FAMILY_READINESS: Shape = { wanted: "boolean", ready: "boolean", code: "string?", hint: "string?" };
const GC_OUTCOME: Shape = { handle: "string", outcome: "string", reason: "string?" };
const PROBLEM: Shape = {
  title: "string",
  status: "number",
  code: "string",
  detail: "string",
  requestId: "string",
  retry: "string",
  retryAfterSeconds: "number?",
  hint: "string?",
};
const FIELD_FAULT: Shape = { pointer: "string?", parameter: "string?", code: "string", message: "string" };

/** Reads the answer of an allocation. */
export function decodeAllocationResult(value: unknown): AllocationResult | undefined {
  if (!hasShape(value, { replayed: "boolean", reused: "boolean" })) return undefined;
  return areAll(value.allocations, isAllocation) ? (value as unknown as AllocationResult) : undefined;
}

/** Reads a page of allocations. */
export function decodeAllocationList(value: unknown): AllocationList | undefined {
  if (!hasShape(value, { nextCursor: "string?" })) return undefined;
  return areAll(value.items, isAllocation) ? (value as unknown as AllocationList) : undefined;
}

/** Reads the answer of a release. */
export function decodeReleaseResult(value: unknown): ReleaseResult | undefined {
  if (!hasShape(value, { released: "number", alreadyFree: "number", rejected: "number" })) return undefined;
  return areAll(value.results, isReleaseOutcome) ? (value as unknown as ReleaseResult) : undefined;
}

/** Reads the readiness of a host. */
export function decodeHostReadiness(value: unknown): HostReadiness | undefined {
  if (!hasShape(value, { host: "string", ready: "boolean" })) return undefined;
  const isSound = isFamilyReadiness(value.ipv4) && isFamilyReadiness(value.ipv6);
  return isSound ? (value as unknown as HostReadiness) : undefined;
}

/** Reads what became of the handles that a runtime does not call valid. */
export function decodeAttachmentGcResult(value: unknown): AttachmentGcResult | undefined {
  if (!hasShape(value, { released: "number", held: "number" })) return undefined;
  return areAll(value.results, isGcOutcome) ? (value as unknown as AttachmentGcResult) : undefined;
}

/** Reads the body of a refusal. */
export function decodeProblem(value: unknown): Problem | undefined {
  if (!hasShape(value, PROBLEM)) return undefined;
  const faultsAreSound = value.errors === undefined || areAll(value.errors, isFieldFault);
  return faultsAreSound ? (value as unknown as Problem) : undefined;
}

function isAllocation(value: unknown): value is Allocation {
  return hasShape(value, ALLOCATION) && (value.family === 4 || value.family === 6);
}

function isFamilyReadiness(value: unknown): value is FamilyReadiness {
  return hasShape(value, FAMILY_READINESS);
}

function isReleaseOutcome(value: unknown): value is ReleaseOutcome {
  return hasShape(value, RELEASE_OUTCOME);
}

function isGcOutcome(value: unknown): value is GcOutcome {
  return hasShape(value, GC_OUTCOME);
}

function isFieldFault(value: unknown): boolean {
  return hasShape(value, FIELD_FAULT);
}

function areAll(value: unknown, holds: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(holds);
}

function hasShape(value: unknown, shape: Shape): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const fields = value as Record<string, unknown>;
  return Object.entries(shape).every(([name, kind]) => {
    const field = fields[name];
    if (kind.endsWith("?") && field === undefined) return true;
    return typeof field === kind.replace("?", "") && field !== null;
  });
}
