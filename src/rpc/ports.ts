/**
 * The objects as their callers see them: one interface each, found by what they serialise. Types only.
 */
import type { BlockPort } from "./block.ts";
import type { ClusterPort } from "./cluster.ts";
import type { HandleIndexPort } from "./handle-index.ts";
import type { HostPort } from "./host.ts";
import type { PoolPort } from "./pool.ts";
import type { SweepPort } from "./sweep.ts";

export interface Ports {
  /** By canonical CIDR of the block. */
  block(cidr: string): BlockPort;
  host(name: string): HostPort;
  pool(name: string, incarnation: number): PoolPort;
  /** The shard that arbitrates the handle. */
  handleIndex(handle: string): HandleIndexPort;
  /** A shard by its number, from 0. */
  handleIndexShard(shard: number): HandleIndexPort;
  cluster(): ClusterPort;
  sweep(): SweepPort;
}
