/**
 * Empty blocks that a host has kept for too long: when they are given back.
 * May import: core only. Rule: one block per host and family stays, and a virtual owner keeps all.
 */
import { parseBlockName } from "./cidr.ts";
import type { Family } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { isVirtualOwner } from "./leak-subject.ts";

/** A confirmed affinity of the host, with what its block holds now. */
export interface OwnedBlock {
  readonly block: string;
  readonly family: Family;
  readonly epoch: number;
  /** The block's counter: it moves with every hand-out and every release. */
  readonly number: number;
  /** Nothing is allocated and nothing cools; what is set aside for the host does not count. */
  readonly isEmpty: boolean;
}

/** A block seen empty, as stored. Units: milliseconds since 1970. */
export interface EmptyMark {
  readonly block: string;
  readonly epoch: number;
  readonly number: number;
  readonly since: number;
}

export interface EmptyPlan {
  readonly marks: readonly EmptyMark[];
  /** To be given back if still empty, each at its epoch. */
  readonly release: readonly { readonly block: string; readonly epoch: number }[];
}

const MIGRATION_LABEL = "projectcalico.org/node-network-during-migration";
const MIGRATED = "calico";

/** Tells whether a host still uses addresses that are not known here: its empty blocks may not be empty. */
export function isMigrating(labels: Readonly<Record<string, string>>): boolean {
  const label = labels[MIGRATION_LABEL];
  return label !== undefined && label !== MIGRATED;
}

/**
 * Plans which empty blocks a host gives back.
 * Shape: `isHeld` clears all marks, so that the time starts anew; without a grace, or with 0, none goes.
 * Invariant: a block goes that was seen empty twice, more than the grace apart, and not used between.
 */
export function planEmptyBlocks(
  blocks: readonly OwnedBlock[],
  marks: readonly EmptyMark[],
  facts: { readonly host: string; readonly now: number; readonly graceMs?: number; readonly isHeld: boolean },
): EmptyPlan {
  const { host, now, graceMs = 0, isHeld } = facts;
  if (graceMs <= 0 || isHeld || isVirtualOwner(host)) return { marks: [], release: [] };
  const known = new Map(marks.map((mark) => [mark.block, mark]));
  const kept: EmptyMark[] = [];
  const release: EmptyPlan["release"][number][] = [];
  for (const family of [4, 6] as const) {
    const owned = blocks.filter((one) => one.family === family);
    // A single block is not even marked: being empty for long gives it no start when a second one comes.
    const empty = owned.length > 1 ? owned.filter(({ isEmpty }) => isEmpty) : [];
    const seen = empty.map((one) => markOf(one, known.get(one.block), now));
    const aged = seen.filter(({ since }) => now - since > graceMs);
    // Hosts fill their blocks in the order of addresses: the last ones go first.
    const going = aged.sort(byAddressDown).slice(0, owned.length - 1);
    kept.push(...seen);
    release.push(...going.map(({ block, epoch }) => ({ block, epoch })));
  }
  return { marks: kept, release };
}

function markOf(block: OwnedBlock, mark: EmptyMark | undefined, now: number): EmptyMark {
  const { block: cidr, epoch, number } = block;
  const isSame = mark !== undefined && mark.epoch === epoch && mark.number === number;
  // A clock that was set back must not make a block older than it is.
  return { block: cidr, epoch, number, since: isSame ? Math.min(mark.since, now) : now };
}

function byAddressDown(one: EmptyMark, other: EmptyMark): number {
  const [left, right] = [baseOf(one.block), baseOf(other.block)];
  return left === right ? 0 : left < right ? 1 : -1;
}

function baseOf(block: string): bigint {
  const parsed = parseBlockName(block);
  invariant(parsed.ok, "a block is named by its CIDR");
  return parsed.value.base;
}
