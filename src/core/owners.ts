/**
 * Who owns an address: the active owner, and the one that a migration prepares. Pure comparisons.
 * May import: core only. Only namespace and pod say who an owner is; `node` says where it runs.
 */
import type { Attributes } from "./allocation.ts";

/** An owner as callers name it; with both empty it stands for nobody. */
export interface OwnerRef {
  readonly namespace: string;
  readonly pod: string;
}

/** What owns an address. An owner who is nobody may still have other attributes. */
export interface Owners {
  readonly active: Attributes;
  readonly alternate: Attributes;
}

/** The owners of whatever remembers them. */
export function ownersOf(holder: {
  readonly attributes: Attributes;
  readonly alternateAttributes?: Attributes;
}): Owners {
  return { active: holder.attributes, alternate: holder.alternateAttributes ?? {} };
}

/** Tells whether a map of attributes names nobody. */
export function isNobody({ namespace = "", pod = "" }: Attributes): boolean {
  return namespace === "" && pod === "";
}

/** Tells whether a map of attributes is the owner that a caller names. */
export function isOwner(owner: Attributes, ref: OwnerRef): boolean {
  return (owner.namespace ?? "") === ref.namespace && (owner.pod ?? "") === ref.pod;
}

/** What an agent's reach is judged by. */
interface Held {
  readonly host: string;
  readonly attributes: Attributes;
  readonly alternateAttributes?: Attributes;
}

/** Tells whether an agent may know of an address: its host's own, or of an owner on its host. */
export function isSeenBy(host: string, held: Held): boolean {
  const { active, alternate } = ownersOf(held);
  return held.host === host || active.node === host || alternate.node === host;
}

/** Tells whether an agent may release an address: its host's own, or of one owner that is left, on its host. */
export function isReleasedBy(host: string, held: Held): boolean {
  if (held.host === host) return true;
  const { active, alternate } = ownersOf(held);
  const left = [active, alternate].filter((owner) => !isNobody(owner));
  return left.length === 1 && left[0]?.node === host;
}

/** Tells whether an agent may take an owner away: nobody, or one on its host. */
export function isClearedBy(host: string, owner: Attributes): boolean {
  return isNobody(owner) || owner.node === host;
}
