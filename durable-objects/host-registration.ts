/**
 * What a host's registration becomes. May import: rpc, storage. Pure: the Host stores it.
 * Rule: an incarnation that was replaced never comes back.
 */
import type { RegisterRequest } from "../src/rpc/host.ts";
import type { Registration } from "./storage/host-rows.ts";

/** Replaced incarnations that a host remembers. */
const REPLACED_MAX = 8;

/** What a registration becomes; `older` when the incarnation was replaced before. The same one changes nothing. */
export function registrationAfter(
  before: Registration | undefined,
  { labels, incarnation }: RegisterRequest,
  now: number,
): Registration | "older" {
  if (incarnation !== undefined && before?.replaced.includes(incarnation) === true) return "older";
  const isNew = incarnation !== undefined && incarnation !== before?.incarnation;
  const kept = incarnation ?? before?.incarnation;
  const replacedNow = isNew && before?.incarnation !== undefined ? [before.incarnation] : [];
  // A removal that ends meanwhile tells Cluster the next revision: this one is later.
  const step = before?.gone === undefined ? 1 : 2;
  const isAnew = isNew || before?.gone !== undefined;
  const next: Registration = {
    labels,
    ...(kept === undefined ? {} : { incarnation: kept }),
    replaced: [...replacedNow, ...(before?.replaced ?? [])].slice(0, REPLACED_MAX),
    generation: (before?.generation ?? 0) + (isAnew ? 1 : 0),
    revision: (before?.revision ?? 0) + step,
    registeredAt: before?.registeredAt ?? now,
  };
  const isSame = before !== undefined && !isAnew && sameLabels(before.labels, labels);
  return isSame ? before : next;
}

function sameLabels(one: Registration["labels"], other: Registration["labels"]): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
