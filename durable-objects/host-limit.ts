/**
 * A handle at its limit: what its rows' blocks really hold decides whether that is answered again,
 * refused, or whether there is room after all. May import: core, rpc, platform.
 */
import type { AddressRecord } from "../src/core/allocation.ts";
import { rejection } from "../src/core/errors.ts";
import { invariant } from "../src/core/invariant.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../src/core/limits.ts";
import type { KeyRow, SettleItem } from "../src/rpc/handle-index.ts";
import type { AttemptRefusal, AttemptWish } from "./host-attempt-terms.ts";
import { again, type HostContext, untilOf } from "./host-context.ts";

export type LimitMet =
  /** The index knows more now: reserve again. */
  | { readonly kind: "again" }
  | { readonly kind: "reused"; readonly records: readonly AddressRecord[] }
  | { readonly kind: "refused"; readonly refusal: AttemptRefusal };

interface BlockHolding {
  readonly block: string;
  readonly rows: readonly KeyRow[];
  readonly held: readonly ("held" | "released" | "not_held" | "not_final")[];
  readonly counts: readonly number[];
}

/**
 * Decides what a limit means for this attempt, by the word of every block that the handle is listed in.
 * `wish.count`: what it lacks; what its own key holds it has got already.
 */
export async function meetLimit(
  host: HostContext,
  wish: AttemptWish,
  rows: readonly KeyRow[],
  isExact: boolean,
): Promise<LimitMet> {
  const { handle, limit, family, count } = wish;
  invariant(limit !== undefined, "a limit is met only where there is one");
  const holdings = await Promise.all([...byBlock(rows)].map(([block, ofBlock]) => ask(host, block, ofBlock)));
  const open = holdings.some((holding) => holding === undefined || holding.held.includes("not_final"));
  if (open) return inProgress(wish);
  const known = holdings.filter((holding) => holding !== undefined);
  const settled = known.flatMap(settlements);
  if (settled.length > 0) {
    const told = await again(host, () => host.runtime.ports.handleIndex(handle).settle({ items: settled }));
    return told.kind === "answered" ? { kind: "again" } : inProgress(wish);
  }
  const total = sizeOf(known);
  const others = known.map((holding) => withoutKey(holding, wish.key));
  // An exact assignment wants one address; others of the handle are no answer to it.
  const isReusable = !isExact && sizeOf(others) >= count;
  if (isReusable) return await reuse(host, wish, others);
  return {
    kind: "refused",
    refusal: rejection("handle_limit_reached", { handle, limit, allocated: total, family }),
  };
}

function sizeOf(holdings: readonly BlockHolding[]): number {
  return holdings.flatMap(({ counts }) => counts).reduce((one, other) => one + other, 0);
}

function withoutKey({ block, rows, held, counts }: BlockHolding, key: string): BlockHolding {
  const isOther = (_value: unknown, index: number): boolean => rows[index]?.key !== key;
  return {
    block,
    rows: rows.filter(isOther),
    held: held.filter(isOther),
    counts: counts.filter(isOther),
  };
}

async function ask(
  host: HostContext,
  block: string,
  rows: readonly KeyRow[],
): Promise<BlockHolding | undefined> {
  const keys = rows.map(({ handle, key, until }) => ({ handle, key, finalAfter: until }));
  const answer = await again(host, () => host.runtime.ports.block(block).holds({ block, keys }));
  return answer.kind === "answered" ? { block, rows, ...answer.value } : undefined;
}

/** Rows that say more than their block holds. */
function settlements({ block, rows, held, counts }: BlockHolding): SettleItem[] {
  return rows.flatMap(({ handle, key, until, count }, index): SettleItem[] => {
    const row = { handle, key, block, until };
    const holds = counts[index] ?? 0;
    if (held[index] === "released") return [{ ...row, outcome: "released" }];
    if (held[index] === "not_held") return [{ ...row, outcome: "absent" }];
    return holds < count ? [{ ...row, outcome: "held", count: holds }] : [];
  });
}

/** Takes what is asked from the blocks in turn; where one holds fewer by now, all is looked at again. */
async function reuse(
  host: HostContext,
  wish: AttemptWish,
  holdings: readonly BlockHolding[],
): Promise<LimitMet> {
  const records: AddressRecord[] = [];
  for (const holding of holdings) {
    const { block, rows } = holding;
    const holds = sizeOf([holding]);
    const take = Math.min(holds, wish.count - records.length);
    if (take <= 0) continue;
    const leased = await host.runtime.policy.current(host.runtime.now());
    if (leased === undefined) return { kind: "refused", refusal: rejection("policy_unavailable", {}, 1) };
    const message = {
      block,
      host: wish.host,
      handle: wish.handle,
      keys: rows.map(({ key }) => key),
      take,
      ...(wish.ownerSlot === undefined ? {} : { ownerSlot: wish.ownerSlot }),
      attributes: wish.item.attributes,
      until: untilOf(host, leased, wish.deadlineAt),
      cooldownMs: leased.policy.config.ipCooldownSeconds * 1000,
    };
    const answer = await again(host, () => host.runtime.ports.block(block).reuse(message));
    if (answer.kind !== "answered" || answer.value.kind === "late") return inProgress(wish);
    if (answer.value.kind === "fewer") return { kind: "again" };
    records.push(...answer.value.records);
  }
  return { kind: "reused", records };
}

function inProgress({ host, handle }: AttemptWish): LimitMet {
  const refusal = rejection("in_progress", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS);
  return { kind: "refused", refusal };
}

function byBlock(rows: readonly KeyRow[]): Map<string, KeyRow[]> {
  const grouped = new Map<string, KeyRow[]>();
  for (const row of rows) grouped.set(row.block, [...(grouped.get(row.block) ?? []), row]);
  return grouped;
}
