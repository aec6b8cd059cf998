/**
 * One allocate request as a whole: both families or none, undo, and the answer.
 * May import: core, rpc, platform. Rule: undo only on a definite refusal, only what was created.
 */

import { parseAddress } from "../src/core/address.ts";
import type { AddressRecord } from "../src/core/allocation.ts";
import { type Family, type Rejection, rejection, type Shortfall } from "../src/core/errors.ts";
import { invariant } from "../src/core/invariant.ts";
import { CONSIDERED_EXPLANATION_MAX, IN_PROGRESS_RETRY_AFTER_SECONDS } from "../src/core/limits.ts";
import { boundConsidered, interfacePrefix } from "../src/core/placement.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import type {
  AllocateRefusal,
  ExplanationView,
  HostAllocateAnswer,
  HostAllocateRequest,
  PlacedAddress,
} from "../src/rpc/host.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { HostAttempt } from "./host-attempt.ts";
import { again, blockTarget, type HostContext, poolTarget } from "./host-context.ts";
import type { HostLooks } from "./host-looks.ts";
import { HostSearch, type SearchResult } from "./host-search.ts";

interface Parts {
  readonly host: HostContext;
  readonly affinities: HostAffinities;
  readonly enrol: () => Promise<boolean>;
  readonly looks: HostLooks;
}

interface Searched {
  readonly family: Family;
  readonly search: HostSearch;
  readonly attempt: HostAttempt;
  readonly result: SearchResult;
}

type Short = Extract<SearchResult, { kind: "short" }>;

/** Allocates for one request. `labels` are those of the host's registration. */
export async function allocateFor(
  parts: Parts,
  request: HostAllocateRequest,
  labels: Readonly<Record<string, string>>,
): Promise<Result<HostAllocateAnswer, AllocateRefusal>> {
  const { policy: source, now } = parts.host.runtime;
  const known = source.held(now())?.policy ?? source.peek() ?? (await source.current(now()))?.policy;
  if (known === undefined) return err(rejection("policy_unavailable", {}, 1));
  const attempts = wishes(request).map(([family, count]) => attemptOf(parts, request, family, count));
  const shut = await familiesLeftShort(parts, request);
  if (shut === undefined) return err(rejection("overloaded", { where: "index" }, 1));
  const searched = attempts.map(async (attempt): Promise<Searched> => {
    const search = new HostSearch(parts, attempt, request, labels);
    const { family } = attempt.wish;
    return { family, search, attempt, result: await search.run(known, shut.has(family)) };
  });
  const all = await Promise.all(searched);
  const concluded = await conclude(parts, request, all);
  if (!concluded.ok || request.explain !== true) return concluded;
  return ok({ ...concluded.value, explanation: explanationOf(parts, request, labels, all) });
}

/**
 * Families that got nothing when this partial request was answered before: they get nothing now (I13);
 * undefined: the index did not answer. Why only read: whoever looks a key up is its latest attempt, and no
 * block's "no" is final until that one's time has passed: no repeat would ever come to an end.
 */
async function familiesLeftShort(
  { host }: Parts,
  request: HostAllocateRequest,
): Promise<ReadonlySet<Family> | undefined> {
  const { handle, key, partial } = request;
  const asked = wishes(request).map(([family]) => family);
  if (!partial || asked.length < 2) return new Set();
  const listed = await again(host, () => host.runtime.ports.handleIndex(handle).list({ handle }));
  if (listed.kind !== "answered") return undefined;
  const ofKey = listed.value.rows.filter((row) => row.key === `${request.host}/${key}`);
  const found = new Set(ofKey.map(({ family }) => family));
  return new Set(found.size === 0 ? [] : asked.filter((family) => !found.has(family)));
}

function wishes(request: HostAllocateRequest): (readonly [Family, number])[] {
  const both = [[4, request.ipv4?.count ?? 0] as const, [6, request.ipv6?.count ?? 0] as const];
  return both.filter(([, count]) => count > 0);
}

function attemptOf(parts: Parts, request: HostAllocateRequest, family: Family, count: number): HostAttempt {
  const { host, handle, key, fingerprint, use, attributes, ownerSlot, leakCollection, deadlineAt } = request;
  return new HostAttempt(parts.host, {
    host,
    handle,
    key: `${host}/${key}`,
    fingerprint,
    family,
    count,
    item: { use, attributes, leakCollection },
    ...(ownerSlot === undefined ? {} : { ownerSlot }),
    ...(request.maxPerHandle === undefined ? {} : { limit: request.maxPerHandle }),
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
  });
}

/** A failed family fails the request and nothing is undone; a short one refuses it, unless partial. */
async function conclude(
  parts: Parts,
  request: HostAllocateRequest,
  searched: readonly Searched[],
): Promise<Result<HostAllocateAnswer, AllocateRefusal>> {
  for (const { result } of searched) {
    if (result.kind === "refused") {
      // What the other family created stays under its key only where the outcome is open.
      if (isDefinite(result.refusal.code) && !(await undoAll(parts, request, searched)))
        return unknown(request);
      return err(result.refusal);
    }
  }
  const short = searched
    .map(({ result }) => result)
    .filter((result): result is Short => result.kind === "short");
  const got = searched.flatMap(({ attempt }) => attempt.got);
  if (short.length > 0 && !(request.partial && got.length > 0)) {
    if (!(await undoAll(parts, request, searched))) return unknown(request);
    return err(shortage(request, short));
  }
  if (short.length > 0) {
    const left = await Promise.all(searched.map(({ attempt }) => attempt.leaveUnused()));
    if (left.includes(false)) return unknown(request);
  }
  const policy = parts.host.runtime.policy.peek();
  invariant(policy !== undefined, "an address was got under a policy");
  return ok({
    addresses: got.map((record) => placed(policy, record)),
    shortfall: short.map(({ shortfall }) => shortfall),
    replayed:
      searched.some(({ attempt }) => attempt.wasFound) &&
      searched.every(({ attempt }) => attempt.created.length === 0),
    reused: searched.some(({ attempt }) => attempt.wasReused),
  });
}

/** What the search of an answered request met. */
function explanationOf(
  { host }: Parts,
  request: HostAllocateRequest,
  hostLabels: Readonly<Record<string, string>>,
  searched: readonly Searched[],
): ExplanationView {
  const policy = host.runtime.policy.peek();
  invariant(policy !== undefined, "a request was answered under a policy");
  const { strictAffinity, autoAllocateBlocks } = policy.config;
  const families = searched.map(({ family, search, attempt, result }) => {
    const short = result.kind === "short" ? result.shortfall : undefined;
    const bounded = boundConsidered(search.considered, CONSIDERED_EXPLANATION_MAX);
    return {
      family,
      requested: attempt.wish.count,
      allocated: attempt.got.length,
      ...(short === undefined ? {} : { code: short.code as AllocateRefusal["code"] }),
      ownedBlocks: search.owned,
      blockCap: policy.cap(request.maxBlocksPerHost),
      considered: short?.considered ?? bounded.considered,
      consideredOmitted: short?.consideredOmitted ?? bounded.omitted,
    };
  });
  return {
    wouldSucceed: true,
    policyRevision: policy.version,
    hostKnown: true,
    hostLabels,
    strictAffinity,
    autoAllocateBlocks,
    families,
    asOf: host.runtime.now(),
  };
}

const DEFINITE: ReadonlySet<string> = new Set([
  "host_removing",
  "idempotency_key_released",
  "idempotency_key_reused",
  "handle_limit_reached",
] satisfies AllocateRefusal["code"][]);

/** A code after which the same key will not be used to find what the attempt created. */
function isDefinite(code: AllocateRefusal["code"]): boolean {
  return DEFINITE.has(code);
}

/** An undo that may not have happened: the address may be left under its handle and key (I15). */
function unknown({ host, handle }: HostAllocateRequest) {
  return err(rejection("outcome_unknown", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
}

/** Puts back what this attempt was told it created, by key and touch; false when a block did not answer. */
async function undoAll(
  parts: Parts,
  request: HostAllocateRequest,
  searched: readonly Searched[],
): Promise<boolean> {
  const { handle, host, key } = request;
  const policy = parts.host.runtime.policy.peek();
  const byBlock = new Map<string, AddressRecord[]>();
  for (const record of searched.flatMap(({ attempt }) => attempt.created)) {
    byBlock.set(record.block, [...(byBlock.get(record.block) ?? []), record]);
  }
  const undone = [...byBlock].map(async ([block, records]) => {
    const pool = policy === undefined ? undefined : poolOf(policy, records[0]);
    if (pool === undefined) return false;
    const addresses = records.map(({ address, touch }) => ({ address, touch }));
    const message = { ...blockTarget(pool, block), handle, key: `${host}/${key}`, addresses };
    const answer = await again(parts.host, () => parts.host.runtime.ports.block(block).undo(message));
    if (answer.kind !== "answered") return false;
    noteUndone(parts.host, pool, block, answer.value.undone.length);
    return true;
  });
  return (await Promise.all(undone)).every((isDone) => isDone);
}

/** What was put back can be had again: no other block is claimed for want of it. */
function noteUndone(host: HostContext, pool: CompiledPool, block: string, undone: number): void {
  const now = host.runtime.now();
  const counts = host.memory.hint(block)?.counts;
  if (counts === undefined || undone === 0) return;
  const { allocated, free, available, borrowed } = counts;
  const isOwn = host.memory.affinities.get(block)?.state === "confirmed";
  const after = {
    ...counts,
    allocated: allocated - undone,
    free: free + undone,
    available: available + undone,
    borrowed: isOwn ? borrowed : borrowed - undone,
  };
  host.memory.note(block, after, now);
  host.reports.changed(poolTarget(pool), block, after);
}

function shortage(request: HostAllocateRequest, short: readonly Short[]): AllocateRefusal {
  const [first] = short;
  invariant(first !== undefined, "something is short");
  const { family, requested, allocated, code, retryAfterSeconds } = first.shortfall;
  const evidence = {
    host: request.host,
    family,
    requested,
    allocated,
    ...(first.end === undefined ? {} : { owned: first.end.owned }),
    ...(first.end?.capReached === true ? { limit: first.end.cap } : {}),
    ...(first.end?.nextFreeAt === undefined ? {} : { freeAt: first.end.nextFreeAt }),
    ...(first.pool === undefined ? {} : { pool: first.pool }),
    shortfall: short.map(({ shortfall }): Shortfall => shortfall),
  };
  return rejection(code, evidence as never, retryAfterSeconds) as Rejection<ShortCode>;
}

type ShortCode = Exclude<
  Extract<AllocateRefusal, { readonly evidence: { readonly shortfall: Shortfall[] } }>["code"],
  never
>;

/** Adds what only the policy knows of an address. */
export function placed(policy: CompiledPolicy, record: AddressRecord): PlacedAddress {
  const parsed = parseAddress(record.address);
  const pool = poolOf(policy, record);
  const isReserved = parsed.ok && policy.reserved[record.family].contains(parsed.value.value);
  const gateway = pool?.definition.gateway;
  return {
    record,
    pool: pool?.definition.name ?? "",
    interfacePrefix: pool === undefined ? (record.family === 4 ? 32 : 128) : interfacePrefix(pool),
    ...(gateway === undefined ? {} : { gateway }),
    reserved: isReserved,
  };
}

function poolOf(policy: CompiledPolicy, record: AddressRecord | undefined) {
  const parsed = record === undefined ? undefined : parseAddress(record.address);
  return parsed?.ok === true ? policy.poolOf(parsed.value) : undefined;
}
