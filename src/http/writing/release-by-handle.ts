/**
 * Release by handle: index, then blocks, then index. Keys are named, so that a late release
 * cannot hit a later allocation of the same handle. May import: core, rpc and http.
 */
import { type Rejection, rejection } from "../../core/errors.ts";
import { shardOf } from "../../core/ids.ts";
import { invariant } from "../../core/invariant.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../core/limits.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { KeyRelease, ReleaseHandleAnswer, ReleaseHandleRequest } from "../../rpc/block.ts";
import type { KeyRow, SettleItem } from "../../rpc/handle-index.ts";
import { mapBounded } from "../concurrency.ts";
import { sendGathered, type Way } from "../gathering.ts";
import type { Call } from "../operation.ts";
import { releaseOnWire } from "../present/allocation.ts";
import { releasePolicyOf } from "../reading/policy.ts";
import type { Wire } from "../schemas/components.ts";

type Outcomes = Wire["ReleaseOutcome"][];

/** Times that a key is asked for again after its time has passed; each new attempt of its ADD extends it. */
const ROUNDS_MAX = 3;

/**
 * Releases all that a handle holds within the caller's reach; nothing to release is success.
 * Rejects: a key that may still come to hold an address, after waiting for its time to pass.
 */
export async function releaseByHandle(
  call: Call,
  policy: CompiledPolicy,
  handle: string,
): Promise<Result<Outcomes, Rejection<"in_progress">>> {
  const outcomes: Outcomes = [];
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const rows = await listed(call, handle);
    if (rows.length === 0) return ok(outcomes);
    const judged = (
      await mapBounded(rowsByBlock(rows), (one) => releaseInBlock(call, policy, handle, one))
    ).flat();
    for (const { release } of judged) outcomes.push(...written(release));
    const settled = judged.flatMap(({ row, release }) => settlementOf(row, release));
    // A row that has moved on since it was listed changes nothing: its key may hold elsewhere by now.
    const changed = settled.length > 0 ? await settle(call, handle, settled) : 0;
    const open = judged.filter(({ release }) => release.outcome === "not_final");
    if (open.length === 0 && changed === settled.length) return ok(outcomes);
    if (open.length === 0) continue;
    const wakeAt = Math.max(...open.map(({ row }) => row.until)) + call.settings.skewMs + 1;
    if (call.deadlineAt !== undefined && wakeAt > call.deadlineAt) break;
    // A block whose clock is behind this one says "not final" a little longer.
    const leastMs = round === 0 ? 0 : call.settings.skewMs;
    await call.sleep(Math.max(leastMs, wakeAt - call.now()));
  }
  return err(rejection("in_progress", { handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
}

/** The rows of a handle that may hold something; several handles of a shard are looked up in one call. */
async function listed(call: Call, handle: string): Promise<readonly KeyRow[]> {
  const index = () => call.ports.handleIndex(handle);
  const way: Way<string, readonly KeyRow[]> = {
    to: `list ${shardOf(handle, call.settings.indexShards)}`,
    alone: async (one) => (await index().list({ handle: one })).rows,
    together: async (handles) => (await index().listMany({ handles })).lists,
    repeats: "always",
  };
  return await sendGathered(handle, way, call);
}

/** Tells the index what blocks said; returns how many rows that changed. */
async function settle(call: Call, handle: string, items: readonly SettleItem[]): Promise<number> {
  const index = () => call.ports.handleIndex(handle);
  const way: Way<readonly SettleItem[], number> = {
    to: `settle ${shardOf(handle, call.settings.indexShards)}`,
    alone: async (lot) => (await index().settle({ items: lot })).changed,
    together: async (lots) => (await index().settleMany({ lots })).changed,
    repeats: "always",
  };
  return await sendGathered(items, way, call);
}

interface Judged {
  readonly row: KeyRow;
  readonly release: KeyRelease;
}

/** Groups the rows of a handle by the block that they point at. */
export function rowsByBlock(rows: readonly KeyRow[]): KeyRow[][] {
  const blocks = new Map<string, KeyRow[]>();
  for (const row of rows) blocks.set(row.block, [...(blocks.get(row.block) ?? []), row]);
  return [...blocks.values()];
}

async function releaseInBlock(
  call: Call,
  policy: CompiledPolicy,
  handle: string,
  rows: readonly KeyRow[],
): Promise<Judged[]> {
  const block = rows[0]?.block;
  invariant(block !== undefined, "a group of rows is not empty");
  const { host } = call.principal;
  const request: ReleaseHandleRequest = {
    block,
    handle,
    keys: rows.map(({ key, until }) => ({ key, finalAfter: until })),
    ...releasePolicyOf(policy, block),
    ...(host === undefined ? {} : { onlyHost: host }),
  };
  const port = () => call.ports.block(block);
  const way: Way<ReleaseHandleRequest, ReleaseHandleAnswer> = {
    to: `release ${block}`,
    alone: (one) => port().releaseHandle(one),
    together: async (items) => (await port().releaseHandles({ block, items })).answers,
    // Where the answer was lost, a repeat would not tell which addresses this request has freed.
    repeats: "after_defect",
  };
  const answer = await sendGathered(request, way, call);
  return rows.map((row) => {
    const release = answer.keys.find(({ key }) => key === row.key);
    invariant(release !== undefined, "a block answers each key");
    return { row, release };
  });
}

/** What the index may know of a row: only what its block said finally. */
function settlementOf({ handle, key, block, until }: KeyRow, { outcome }: KeyRelease): SettleItem[] {
  if (outcome !== "released" && outcome !== "absent") return [];
  return [{ handle, key, block, outcome, until }];
}

function written({ records }: KeyRelease): Outcomes {
  return records
    .filter((record) => record.releasedAt !== undefined)
    .map((record) =>
      releaseOnWire({
        kind: "released",
        address: record.address,
        handle: record.handle,
        freeAt: record.freeAt ?? record.releasedAt ?? 0,
        sequenceNumber: record.sequenceNumber,
      }),
    );
}
