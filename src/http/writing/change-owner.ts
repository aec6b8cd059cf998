/**
 * One owner of all addresses of a handle: index, then blocks, then index where addresses were released.
 * May import: core, rpc and http. Every block is asked whether it would refuse before any is changed.
 */
import { type Rejection, rejection } from "../../core/errors.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../core/limits.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { ChangeOwnerAnswer, ChangeOwnerRequest } from "../../rpc/block.ts";
import type { KeyRow, SettleItem } from "../../rpc/handle-index.ts";
import { mapBounded } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { allocationOnWire } from "../present/allocation.ts";
import { placedByPolicy, releasePolicyOf } from "../reading/policy.ts";
import { byAddress } from "../reading/record-page.ts";
import type { Wire } from "../schemas/components.ts";
import { lateBlock, writeUntil } from "./owners.ts";
import { rowsByBlock } from "./release-in-block.ts";

export type OwnerChange = Pick<ChangeOwnerRequest, "handle" | "change" | "owner" | "releaseWhenUnowned">;

export type OwnerChangeRefusal = Rejection<
  | "handle_not_allocated"
  | "alternate_owner_empty"
  | "alternate_owner_mismatch"
  | "host_mismatch"
  | "in_progress"
  | "overloaded"
  | "policy_unavailable"
>;

type Changed = Extract<ChangeOwnerAnswer, { kind: "changed" }>;
type Asked = { readonly rows: readonly KeyRow[]; readonly answer: ChangeOwnerAnswer };

/** Changes one owner on every address of a handle within the caller's reach; repeating completes it. */
export async function changeOwnerOf(
  call: Call,
  change: OwnerChange,
): Promise<Result<Wire["OwnerChangeResult"], OwnerChangeRefusal>> {
  const index = call.ports.handleIndex(change.handle);
  const { rows } = await index.list({ handle: change.handle });
  const blocks = rowsByBlock(rows);
  if (blocks.length > 1) {
    const refusal = firstRefusal(call, change, await askAll(call, change, blocks, true));
    if (refusal !== undefined) return err(refusal);
  }
  const asked = await askAll(call, change, blocks, false);
  if (!asked.ok) return asked;
  const settled = asked.value.flatMap(settlements);
  if (settled.length > 0) await index.settle({ items: settled });
  const refusal = firstRefusal(call, change, asked);
  if (refusal !== undefined) return err(refusal);
  const changed = asked.value.map(({ answer }) => answer).filter((answer) => answer.kind === "changed");
  const nothing = nothingHeld(change, changed);
  if (nothing !== undefined) return err(nothing);
  return await written(call, changed);
}

async function askAll(
  call: Call,
  change: OwnerChange,
  blocks: readonly (readonly KeyRow[])[],
  isTrial: boolean,
): Promise<Result<Asked[], Rejection<"policy_unavailable">>> {
  const lease = await writeUntil(call);
  if (!lease.ok) return lease;
  const { policy, until } = lease.value;
  const { host } = call.principal;
  const asked = await mapBounded(blocks, async (rows) => {
    const block = rows[0]?.block ?? "";
    const answer = await call.ports.block(block).changeOwner({
      ...change,
      block,
      keys: rows.map(({ key, until: finalAfter }) => ({ key, finalAfter })),
      isTrial,
      ...(host === undefined ? {} : { onlyHost: host }),
      until,
      ...releasePolicyOf(policy, block),
    });
    return { rows, answer };
  });
  return ok(asked);
}

function firstRefusal(
  { principal }: Call,
  { handle }: OwnerChange,
  asked: Result<Asked[], OwnerChangeRefusal>,
): OwnerChangeRefusal | undefined {
  if (!asked.ok) return asked.error;
  for (const { answer } of asked.value) {
    switch (answer.kind) {
      case "alternate_owner_empty":
      case "alternate_owner_mismatch":
        return rejection(answer.kind, { handle });
      case "out_of_reach":
        return rejection("host_mismatch", { host: principal.host ?? "" });
      case "late":
        return lateBlock();
      case "changed":
        continue;
    }
  }
  return undefined;
}

/** What the index may know of a row: only what its block said finally. */
function settlements({ rows, answer }: Asked): SettleItem[] {
  if (answer.kind !== "changed") return [];
  return answer.keys.flatMap(({ key, state }): SettleItem[] => {
    const row = rows.find((one) => one.key === key);
    if (row === undefined || (state !== "released" && state !== "absent")) return [];
    const { handle, block, until } = row;
    return [{ handle, key, block, outcome: state, until }];
  });
}

/**
 * Why: an address that is under way may still come to have the owner; what was to be given up and is not
 * there has been given up before.
 */
function nothingHeld(
  { handle, change, releaseWhenUnowned }: OwnerChange,
  answers: readonly Changed[],
): Rejection<"handle_not_allocated" | "in_progress"> | undefined {
  if (answers.some(({ seen }) => seen > 0)) return undefined;
  if (answers.some(({ keys }) => keys.some(({ state }) => state === "not_final"))) {
    return rejection("in_progress", { handle }, IN_PROGRESS_RETRY_AFTER_SECONDS);
  }
  if (change === "clear" && releaseWhenUnowned) return undefined;
  return rejection("handle_not_allocated", { handle });
}

async function written(
  call: Call,
  answers: readonly Changed[],
): Promise<Result<Wire["OwnerChangeResult"], Rejection<"policy_unavailable">>> {
  const leased = await call.policy.current(call.now());
  const policy = leased?.policy ?? call.policy.peek();
  if (policy === undefined) return err(rejection("policy_unavailable", {}));
  const outcomes = answers.flatMap((answer) => answer.outcomes);
  const count = (kind: string) => outcomes.filter(({ outcome }) => outcome === kind).length;
  const left = outcomes.filter(({ outcome }) => outcome !== "released").map(({ record }) => record);
  return ok({
    changed: count("changed"),
    unchanged: count("unchanged"),
    released: count("released"),
    allocations: left.toSorted(byAddress).map((record) => allocationOnWire(placedByPolicy(policy, record))),
  });
}
