/**
 * Names of objects: class, version, address space, then the thing itself.
 * May import: nothing. A name, once given out, never changes its meaning.
 */
const SPACE = "default";

/** Names the object of a block by its block name, e.g. `10.0.0.0-26`. */
export function blockObjectName(blockName: string): string {
  return `block:v1:${SPACE}:${blockName}`;
}

/** Names the object of an affinity owner: a host, or `virtual:<name>`. */
export function hostObjectName(host: string): string {
  return `host:v1:${SPACE}:${host}`;
}

/** Names the object of one incarnation of a pool. */
export function poolObjectName(pool: string, incarnation: number): string {
  return `pool:v1:${SPACE}:${pool}:${incarnation}`;
}

/** Names one shard of the handle index. */
export function handleIndexObjectName(shard: number): string {
  return `handle-index:v1:${SPACE}:${shard}`;
}

export const CLUSTER_OBJECT_NAME = `cluster:v1:${SPACE}`;
export const SWEEP_OBJECT_NAME = `sweep:v1:${SPACE}`;

/** Hashes text to 32 bits (FNV-1a): spreads handles over shards and hosts over a pool. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

/** Tells the shard that arbitrates a handle; the number of shards is fixed for a deployment's life. */
export function shardOf(handle: string, shards: number): number {
  return hash32(handle) % shards;
}
