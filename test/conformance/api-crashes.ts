/**
 * Makes what a crash leaves behind of claims and releases of blocks: a message gets lost where a process
 * died, or one object is played alone where no crash of ours ends. May import: rpc types, this folder.
 */
import type { PoolTarget } from "../../src/rpc/pool.ts";
import type { ApiWorld } from "./api-connection.ts";
import { ownerName } from "./translation.ts";
import { NotYet, type RawAffinity, type RawBlock } from "./vocabulary.ts";

/** Whose the block of a row is: what the block itself says. */
type Holder = "own" | "other" | "nobody in use" | "nobody";

/** How much later than now a message may still create something, ms: well within the bound. */
const AHEAD_MS = 1_500;

/** Tells whether a row and its block agree: then there is nothing that a crash has left. */
export function isPlain({ host, type, state }: RawAffinity, block: RawBlock | undefined): boolean {
  // There are no rows without a state here; old ones are entered as confirmed.
  const isConfirmed = state === "confirmed" || state === "";
  return isConfirmed && block?.affinity === (type === "virtual" ? `virtual:${host}` : `host:${host}`);
}

/**
 * Leaves a row behind as the case says. The block, where it is the row's owner's or nobody's, is made on
 * the way; `use` gives out what is held in it. Rejects: `NotYet` for what no recipe makes.
 */
export async function leaveRow(
  world: ApiWorld,
  row: RawAffinity,
  block: RawBlock | undefined,
  use: (owner: string) => Promise<void>,
): Promise<void> {
  const owner = ownerName(row.host, row.type);
  const holder = holderOf(row, block);
  const { cidr } = row;
  const claim = () => world.send("POST", "/v1/affinity-claims", { host: owner, cidr });
  const release = () =>
    world.send("POST", "/v1/affinity-releases", { host: owner, cidr, mustBeEmpty: false });
  const { losing } = world.connection;
  switch (`${row.state}, block of ${holder}`) {
    case "pending, block of nobody":
      return await losing({ object: "block", method: "claim", message: "request" }, claim);
    case "pending, block of own":
      return await losing({ object: "block", method: "claim", message: "answer" }, claim);
    case "pendingDeletion, block of own":
      await owned(world, owner, cidr);
      return await losing({ object: "block", method: "releaseAffinity", message: "request" }, release);
    case "pendingDeletion, block of nobody":
    case "pendingDeletion, block of nobody in use":
      await owned(world, owner, cidr);
      await use(owner);
      return await losing({ object: "pool", method: "release", message: "request" }, release);
    case "pendingDeletion, block of other":
      await owned(world, owner, cidr);
      return await losing({ object: "pool", method: "release", message: "answer" }, release);
    case "confirmed, block of nobody":
    case "confirmed, block of other":
      await owned(world, owner, cidr);
      return await playRelease(world, owner, cidr);
    default:
      throw new NotYet(`a row that is ${row.state} of a block of ${holder}`);
  }
}

/** A block that names an owner whose Host knows nothing of it: the Host is played. */
export async function playClaim(world: ApiWorld, owner: string, block: string): Promise<void> {
  const { ports, now } = world.connection;
  const { target, pool, epoch } = await freshEpoch(world, owner, block);
  const until = now() + AHEAD_MS;
  const answer = await ports.block(block).claim({ ...target, owner, epoch, until, cooldownMs: 0 });
  if (answer.kind !== "accepted") throw new Error(`${block} of ${pool.pool}: ${answer.kind}`);
}

/** The owner's Host goes on believing that the block is its own: the Host is played. */
async function playRelease(world: ApiWorld, owner: string, block: string): Promise<void> {
  const { ports } = world.connection;
  const { target, pool, epoch } = await freshEpoch(world, owner, block);
  const order = { ...target, owner, epoch, mustBeEmpty: true, cooldownMs: 0 };
  const { kind } = await ports.block(block).releaseAffinity(order);
  if (kind !== "closed") throw new Error(`${block}: ${kind}`);
  await ports.pool(pool.pool, pool.incarnation).release({ ...pool, owner, block, epoch, draining: false });
}

async function freshEpoch(world: ApiWorld, owner: string, block: string) {
  const { ports } = world.connection;
  const pool = await poolOf(world, block);
  const fresh = await ports.pool(pool.pool, pool.incarnation).fresh({ ...pool, owner, block });
  if (fresh.kind !== "claim") throw new Error(`${block} is ${fresh.owner}'s`);
  const { pool: name, incarnation, cidr: poolCidr } = pool;
  return { pool, target: { block, pool: name, incarnation, poolCidr }, epoch: fresh.epoch };
}

/** The cases that need this have one pool. */
async function poolOf(world: ApiWorld, block: string): Promise<PoolTarget> {
  const { policy } = await world.connection.ports.cluster().policy({});
  const [pool, ...others] = policy?.pools ?? [];
  if (pool === undefined || others.length > 0) throw new NotYet(`the pool of ${block} among several`);
  const { name, incarnation, cidr, blockSize } = pool;
  return { pool: name, incarnation, cidr, blockSize };
}

async function owned(world: ApiWorld, host: string, cidr: string): Promise<void> {
  await world.must("POST", "/v1/affinity-claims", { host, cidr });
}

function holderOf({ host, type }: RawAffinity, block: RawBlock | undefined): Holder {
  if (block === undefined) return "nobody";
  if (block.affinity === null) return (block.allocations ?? []).length > 0 ? "nobody in use" : "nobody";
  return block.affinity === `${type === "virtual" ? "virtual" : "host"}:${host}` ? "own" : "other";
}
