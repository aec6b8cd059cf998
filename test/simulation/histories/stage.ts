/**
 * What the named histories share: a small deployment, who holds what, what must hold.
 * May import: the simulation and its support.
 */
import type { HostPort } from "../../../src/rpc/host.ts";
import { checkHistory, checkRows, snapshot } from "../../support/simulation/checker.ts";
import type { PoolWish, Scene } from "../../support/simulation/scene.ts";

export const A = "10.0.0.0/30";
export const B = "10.0.0.4/30";
export const HOST_A = "host:v1:default:a";
export const HOST_B = "host:v1:default:b";
export const POOL = "pool:v1:default:default:0";
export const SHARD = "handle-index:v1:default:0";

/** A pool of one block, or of two. */
export const ONE_BLOCK = poolOf("10.0.0.0/30");
export const TWO_BLOCKS = poolOf("10.0.0.0/29");

function poolOf(cidr: string): { default: PoolWish } {
  return { default: { cidr, blockSize: 30 } };
}

export function target(cidr: string) {
  return { pool: "default", incarnation: 0, cidr, blockSize: 30 };
}

/** All that the rows and the history say against each other. */
export function findings(scene: Scene): string[] {
  const seen = snapshot(scene);
  return [...checkRows(seen), ...checkHistory(scene, seen)];
}

export function heldBy(scene: Scene, handle: string): string[] {
  const held = snapshot(scene).blocks.flatMap((block) => block.held);
  return held.filter((one) => one.handle === handle).map(({ address }) => address);
}

export function ownerOf(scene: Scene, block: string): string | undefined {
  return snapshot(scene).blocks.find((one) => one.block === block)?.owner;
}

/** The affinity rows, as `host block state`. */
export function rowsOf(scene: Scene): string[] {
  return snapshot(scene).affinities.map(({ host, block, state }) => `${host} ${block} ${state}`);
}

/** Asks a host to give a block back under an epoch that its Pool issues now. */
export async function leave(
  scene: Scene,
  host: string,
  block: string,
  cidr: string,
): Promise<{ epoch: number; answer: ReturnType<HostPort["releaseBlock"]> }> {
  const { ports } = scene.deployed;
  const fresh = await scene.world.during(
    ports.pool("default", 0).fresh({ ...target(cidr), owner: host, block }),
  );
  if (fresh.kind !== "claim") throw new Error(`${block} is not ${host}'s`);
  const { epoch } = fresh;
  return { epoch, answer: askToLeave(scene, host, block, epoch) };
}

export function askToLeave(scene: Scene, host: string, block: string, epoch: number) {
  const message = { host, block, pool: "default", incarnation: 0, epoch, mustBeEmpty: true };
  const answer = scene.deployed.ports.host(host).releaseBlock({ ...message, forReclaim: false });
  answer.catch(() => undefined);
  return answer;
}
