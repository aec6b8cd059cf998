/**
 * What a block's committed rows say: owner, epoch, who holds what.
 * May import: the simulation, src/core. Rule: it reads the rows as they are stored, not through the object.
 */
import { formatAddress } from "../../../src/core/address.ts";
import { blockGrid, positionOf } from "../../../src/core/block-grid.ts";
import { addressAt, parseCidr } from "../../../src/core/cidr.ts";
import type { LeakSubject } from "../../../src/core/leak-subject.ts";
import type { World } from "./world.ts";

export interface Holding extends LeakSubject {
  readonly key: string;
  readonly sequenceNumber: number;
}

/** Shape: `place` names the block as its Pool's directory does. */
export interface Tenancy {
  readonly block: string;
  readonly owner: string | undefined;
  readonly epoch: number;
  readonly claimedAt: number | undefined;
  readonly place: string;
  readonly held: readonly Holding[];
  /** When each address that is not held was last released. */
  readonly releasedAt: readonly number[];
  /** Tenures that the collector ended, as `address#number`. */
  readonly collected: readonly string[];
}

interface Header {
  readonly block: string;
  readonly poolCidr: string;
  readonly owner?: string;
  readonly epoch: number;
  readonly claimedAt?: number;
}

/** Reads one block; absent when it was never written. */
export function loadedTenures(world: World, objectName: string): Tenancy | undefined {
  const row = world.rows(objectName, "SELECT header FROM block")[0];
  if (row === undefined) return undefined;
  const { block, poolCidr, owner, epoch, claimedAt } = JSON.parse(String(row.header)) as Header;
  const cidr = parseCidr(block);
  if (!cidr.ok) throw new Error(`${objectName} says that it is ${block}`);
  const { value } = cidr;
  const position = positionOf(blockGrid(poolCidr, value.prefix), block);
  const ordinals = world.rows(objectName, "SELECT ordinal, number, at, current, ended FROM ordinals");
  const held = ordinals
    .filter(({ current }) => current !== null)
    .map(({ ordinal, number, at, current }): Holding => {
      const tenure = JSON.parse(String(current)) as Holding;
      const address = formatAddress(addressAt(value, Number(ordinal)));
      return { ...tenure, address, block, touch: Number(number), touchedAt: Number(at) };
    });
  const collected = ordinals.flatMap(({ ordinal, ended }) => {
    if (!String(ended).includes("collector")) return [];
    const past = JSON.parse(String(ended)) as { releasedBy?: string; sequenceNumber: number }[];
    const address = formatAddress(addressAt(value, Number(ordinal)));
    const theirs = past.filter(({ releasedBy }) => releasedBy === "collector");
    return theirs.map(({ sequenceNumber }) => `${address}#${sequenceNumber}`);
  });
  const releasedAt = ordinals
    .filter(({ current }) => current === null)
    .map(({ ended }) => (JSON.parse(String(ended)) as { releasedAt: number }[])[0]?.releasedAt ?? 0);
  return {
    block,
    owner,
    epoch,
    claimedAt,
    place: `${poolCidr} ${value.prefix} ${position}`,
    held,
    releasedAt,
    collected,
  };
}
