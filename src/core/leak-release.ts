/**
 * From what is proven leaked to what is released: whole handles only, within a cap, each address by its touch.
 * May import: core only. Rule: the ledger forgets an address only on its block's own answer.
 */
import type { HoldReason, Suspicion } from "./leak-ledger.ts";
import type { HostAudit, Standing } from "./leak-policy.ts";

/** One address that a handle holds, wherever it is. */
export interface HandleMember {
  readonly address: string;
  readonly touch: number;
  readonly block: string;
  /** As its own host judged it just now; absent: that host did not say. */
  readonly standing?: Standing;
}

export interface ReleaseItem {
  readonly address: string;
  readonly block: string;
  readonly handle: string;
  readonly touch: number;
}

export interface ReleasePlan {
  /** Handles in order, each with all its addresses. */
  readonly releases: readonly { readonly handle: string; readonly items: readonly ReleaseItem[] }[];
  /** Addresses of handles that are leaked as a whole, released now or not: what a breaker weighs. */
  readonly due: number;
  readonly held: ReadonlyMap<string, HoldReason>;
}

/** What stops all releases. */
export type Stop = "paused" | "breaker_open";

/** Handles with an address that is confirmed: their members are to be asked for. */
export function handlesToWeigh(audit: HostAudit): string[] {
  const leaked = [...audit.judged.values()].filter(
    ({ standing }) => standing === "ready" || standing === "confirmed",
  );
  return [...new Set(leaked.map(({ subject }) => subject.handle))];
}

/**
 * Gives the members of a handle, as blocks list them now, their standings.
 * Why: an address that changed hands since the audit is not what was judged, so it is unknown.
 */
export function withStandings(audit: HostAudit, listed: readonly HandleMember[]): HandleMember[] {
  return listed.map((member) => {
    const judged = audit.judged.get(member.address);
    if (judged === undefined) return member;
    const isSame = judged.subject.touch === member.touch;
    return { ...member, standing: isSame ? judged.standing : "unknown" };
  });
}

/**
 * Plans the releases of one run.
 * Shape: `members` undefined for a handle that could not be asked for as a whole. A handle of more addresses
 * than the cap is released when it comes first, since part of it never is.
 * Invariant: I11. Every member of a handle that is released is `ready`.
 */
export function planReleases(
  handles: readonly (readonly [handle: string, members: readonly HandleMember[] | undefined])[],
  limit: { readonly addressesMax: number; readonly stop?: Stop },
): ReleasePlan {
  const releases: ReleasePlan["releases"][number][] = [];
  const held = new Map<string, HoldReason>();
  let due = 0;
  let planned = 0;
  for (const [handle, members] of handles) {
    const leaked = wholeLeak(members);
    if (leaked === undefined) {
      held.set(handle, "handle_partly_alive");
      continue;
    }
    due += leaked.length;
    const isFull = planned > 0 && planned + leaked.length > limit.addressesMax;
    const reason = leaked.some(({ standing }) => standing !== "ready")
      ? "awaiting_recheck"
      : (limit.stop ?? (isFull || limit.addressesMax <= 0 ? "release_limit" : undefined));
    if (reason !== undefined) {
      held.set(handle, reason);
      continue;
    }
    planned += leaked.length;
    const items = leaked.map(({ address, block, touch }) => ({ address, block, handle, touch }));
    releases.push({ handle, items });
  }
  return { releases, due, held };
}

/** The members of a handle if all of them are confirmed; an empty handle has nothing to release. */
function wholeLeak(members: readonly HandleMember[] | undefined): readonly HandleMember[] | undefined {
  if (members === undefined || members.length === 0) return undefined;
  const isLeaked = ({ standing }: HandleMember) => standing === "ready" || standing === "confirmed";
  return members.every(isLeaked) ? members : undefined;
}

/** Notes in the ledger why handles are held; what is not held keeps its note. */
export function withHolds(ledger: readonly Suspicion[], held: ReadonlyMap<string, HoldReason>): Suspicion[] {
  return ledger.map((row) => {
    const reason = row.state === "confirmed" ? held.get(row.handle) : undefined;
    return reason === undefined ? row : { ...row, held: reason };
  });
}

/** What a block answered. `moved_on`: the address is of another touch by now, or free. */
export type ReleaseAnswer = "released" | "moved_on" | "unknown";

/** Takes answers into the ledger: what a block decided is over, what nobody answered stays for the next audit. */
export function afterRelease(
  ledger: readonly Suspicion[],
  answers: ReadonlyMap<string, { readonly touch: number; readonly answer: ReleaseAnswer }>,
): Suspicion[] {
  return ledger.filter(({ address, touch }) => {
    const told = answers.get(address);
    return told === undefined || told.touch !== touch || told.answer === "unknown";
  });
}
