/**
 * Release by handle: index, then blocks, then index. Keys are named, so that a late release
 * cannot hit a later allocation of the same handle. May import: core, rpc and http.
 */
import { type Rejection, rejection } from "../../core/errors.ts";
import { shardOf } from "../../core/ids.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../core/limits.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { KeyRelease } from "../../rpc/block.ts";
import { mapBounded } from "../concurrency.ts";
import { type GatheredWay, sendGathered } from "../gathering.ts";
import type { Call } from "../operation.ts";
import { releaseOnWire } from "../present/allocation.ts";
import type { Wire } from "../schemas/components.ts";
import { type Hear, whileHeard } from "../waiting.ts";
import { takeUpTo } from "./release-budget.ts";
import {
  judgedBy,
  messageOf,
  type Part,
  type Round,
  rowsByBlock,
  settlementOf,
  type Wanted,
} from "./release-in-block.ts";
import { type Ride, releaseMany } from "./release-together.ts";

type Outcomes = Wire["ReleaseOutcome"][];

/** Times that a key is asked for again after its time has passed; each new attempt of its ADD extends it. */
const ROUNDS_MAX = 3;

/** The look-up and the settlement of one round. */
const INDEX_CALLS = 2;

/**
 * Releases all that a handle holds within the caller's reach; nothing to release is success.
 * Rejects: a key that may still come to hold an address, after waiting for its time to pass; more than one
 * event may ask: what was not reached is reached when it is asked for again.
 */
export async function releaseByHandle(
  call: Call,
  policy: CompiledPolicy,
  handle: string,
): Promise<Result<Outcomes, Rejection<"in_progress">>> {
  const { host } = call.principal;
  const wanted: Wanted = { handle, policy, ...(host === undefined ? {} : { onlyHost: host }) };
  const outcomes: Outcomes = [];
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const ride = await sendGathered(wanted, wayOf(handle, call), call);
    const { judged, isSettled } = ride === "by_itself" ? await releaseOne(wanted, call) : ride;
    for (const { release } of judged) outcomes.push(...written(release));
    const open = judged.filter(({ release }) => release.outcome === "not_final");
    if (open.length === 0 && isSettled) return ok(outcomes);
    if (open.length === 0) continue;
    const wakeAt = Math.max(...open.map(({ row }) => row.until)) + call.settings.skewMs + 1;
    if (call.deadlineAt !== undefined && wakeAt > call.deadlineAt) break;
    // A block whose clock is behind this one says "not final" a little longer.
    const leastMs = round === 0 ? 0 : call.settings.skewMs;
    await call.sleep(Math.max(leastMs, wakeAt - call.now()));
  }
  return err(rejection("in_progress", { handle }, IN_PROGRESS_RETRY_AFTER_SECONDS));
}

/** Several handles of a shard are released together: one look-up, one message to each block, one settlement. */
function wayOf(handle: string, call: Call): GatheredWay<Wanted, Ride> {
  return {
    to: `release ${shardOf(handle, call.settings.indexShards)}`,
    alone: (wanted) => releaseOne(wanted, call),
    together: (many) => releaseMany(many, call),
  };
}

/** Rejects: an object that does not answer while no other one does. */
async function releaseOne(wanted: Wanted, call: Call): Promise<Round> {
  if (takeUpTo(INDEX_CALLS, call) < INDEX_CALLS) return { judged: [], isSettled: false };
  return await whileHeard((hear) => askAll(wanted, hear, call), call);
}

async function askAll(wanted: Wanted, hear: Hear, call: Call): Promise<Round> {
  const { handle } = wanted;
  const index = () => call.ports.handleIndex(handle);
  const { rows } = await hear(() => index().list({ handle }));
  const blocks = rowsByBlock(rows);
  const parts = blocks
    .slice(0, takeUpTo(blocks.length, call))
    .map((ofBlock): Part => ({ wanted, rows: ofBlock }));
  const judged = await mapBounded(parts, async (part) => {
    const message = messageOf(part);
    const answer = await hear(() => call.ports.block(message.block).releaseHandle(message));
    return judgedBy(part, answer);
  });
  const items = judged.flat().flatMap(settlementOf);
  const { changed } = items.length === 0 ? { changed: 0 } : await hear(() => index().settle({ items }));
  const isWhole = parts.length === blocks.length;
  return { judged: judged.flat(), isSettled: isWhole && changed === items.length };
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
