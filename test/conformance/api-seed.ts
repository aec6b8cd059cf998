/**
 * Makes the world in which a case begins, with the means that the API has, and with crashes.
 * May import: the rest of this folder. Rule: no row is written here; the objects write what they would.
 */
import { affinities } from "./api-affinities.ts";
import type { ApiWorld } from "./api-connection.ts";
import { isPlain, leaveRow, playClaim } from "./api-crashes.ts";
import { affinityRows } from "./api-inspection.ts";
import { setReservations } from "./api-policy.ts";
import {
  type Given,
  GivenRefused,
  NotYet,
  type PoolRecord,
  type RawAffinity,
  type RawAllocation,
  type RawBlock,
  type RawState,
} from "./vocabulary.ts";

/** Whether the service has a route. */
export type Served = (operationId: string) => boolean;

/** Holds what nobody in the case holds. */
const HOLDER = "holder-of-the-case";
/** A block without a time of its claim counts as claimed long ago. */
const LONG_AGO_SECONDS = 3600;

/** Checks that a state can be made, before anything is opened for it. Rejects: `NotYet`. */
export function review({ pools = [], state = {} }: Given, served: Served): void {
  const { blocks = [] } = state;
  if (pools.some(({ terminating }) => terminating) && !served("drainPool")) {
    throw new NotYet("a pool that drains");
  }
  const isClaimed = blocks.some(({ allocations = [] }) => allocations.length === 0);
  if (isClaimed && !served("claimAffinities")) throw new NotYet("a block that is owned and empty");
  const isOwnerless = blocks.some(({ affinity }) => affinity === null);
  if (isOwnerless && !served("releaseAffinities")) throw new NotYet("a block without owner");
}

/** Makes the state. The switches come last: under some of them it could not be made. */
export async function seed(world: ApiWorld, given: Given): Promise<void> {
  for (const pool of given.pools ?? []) {
    const answer = await world.putPool(pool);
    if (answer.status >= 300) throw new GivenRefused(`pool ${pool.name}: ${answer.body.code}`);
    if (pool.terminating === true) await drain(world, pool);
  }
  for (const { name, labels } of given.hosts ?? []) {
    await world.must("PUT", `/v1/hosts/${name}`, { labels });
  }
  await seedRaw(world, given.state ?? {});
  if (given.reservations !== undefined) await setReservations(world, given.reservations);
  if (given.config !== undefined) {
    const answer = await world.send("PATCH", "/v1/config", given.config);
    if (answer.status >= 300) throw new GivenRefused(`configuration: ${answer.body.code}`);
  }
}

/** A pool drains for as long as somebody holds an address of it. */
async function drain(world: ApiWorld, { name, cidr }: PoolRecord): Promise<void> {
  await world.must("PUT", `/v1/hosts/${HOLDER}`, { labels: {} });
  await hold(world, HOLDER, { ip: cidr.slice(0, cidr.indexOf("/")) });
  await world.must("DELETE", `/v1/pools/${name}`);
}

/** Counts of handles are not entered: they follow from what is held. */
async function seedRaw(world: ApiWorld, { blocks = [], affinities: rows = [] }: RawState): Promise<void> {
  const isMade = new Set<RawBlock>();
  for (const row of rows) {
    const block = blocks.find(({ cidr }) => cidr === row.cidr);
    if (isPlain(row, block)) continue;
    // An owner that went before the present one came leaves its row first.
    const isOfOther = block !== undefined && block.affinity !== null && block.affinity !== `host:${row.host}`;
    const use = async (owner: string) => {
      for (const one of block?.allocations ?? []) await hold(world, owner, one);
    };
    await leaveRow(world, row, block, use);
    if (block !== undefined && !isOfOther) isMade.add(block);
    if (!isOfOther) await world.connection.advance(block?.claimedSecondsAgo ?? LONG_AGO_SECONDS);
  }
  for (const block of blocks) if (!isMade.has(block)) await seedBlock(world, block, rows);
  await checkRows(world, rows);
}

/** A row that a recipe has not made would make a case of something else. */
async function checkRows(world: ApiWorld, rows: readonly RawAffinity[]): Promise<void> {
  const found = rows.length === 0 ? [] : await affinityRows(world);
  for (const { host, cidr, state } of rows) {
    const row = found.find((one) => one.host === host && one.cidr === cidr);
    if (row?.state !== (state || "confirmed"))
      throw new Error(`${host} ${cidr} is ${row?.state}, not ${state}`);
  }
}

async function seedBlock(world: ApiWorld, block: RawBlock, rows: readonly RawAffinity[]): Promise<void> {
  const { cidr, affinity, allocations = [], claimedSecondsAgo = LONG_AGO_SECONDS } = block;
  const owner = affinity?.replace(/^host:/, "") ?? HOLDER;
  // Where a case dates the claim of a block, the row that goes with it matters; else it was left out.
  const isUnknown = affinity !== null && block.claimedSecondsAgo !== undefined;
  const hasNoRow = isUnknown && !rows.some((row) => row.cidr === cidr);
  const holder = hasNoRow ? HOLDER : owner;
  if (holder === HOLDER) await world.must("PUT", `/v1/hosts/${HOLDER}`, { labels: {} });
  if (hasNoRow) await playClaim(world, owner, cidr);
  else if (allocations.length === 0) {
    await world.must("POST", "/v1/affinity-claims", { host: owner, cidr });
  }
  for (const one of allocations) await hold(world, holder, one);
  await world.connection.advance(claimedSecondsAgo);
  if (affinity === null) await affinities(world).releaseHostAffinities?.({ host: HOLDER });
}

async function hold(world: ApiWorld, host: string, { ip, handle }: RawAllocation): Promise<void> {
  const wish = { host, handle: handle ?? world.newHandle() };
  const answer = await world.request("PUT", `/v1/allocations/${encodeURIComponent(ip)}`, wish);
  if (answer.status >= 300) throw new GivenRefused(`${ip}: ${answer.body.code}`);
}
