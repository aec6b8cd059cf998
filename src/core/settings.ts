/**
 * Constants of a platform. Fixed for the life of a deployment.
 * May import: core only. Not configuration: an operator's switches are in config.ts.
 */
export interface Settings {
  /** L: how long a policy lease lasts, ms. */
  readonly leaseMs: number;
  /** ε: how far two clocks may differ, ms. */
  readonly skewMs: number;
  /** How far ahead a message may still create something, ms. */
  readonly untilMs: number;
  /** Shards of the handle index. */
  readonly indexShards: number;
  /** How old a claim must be before another owner may take the empty block, ms. */
  readonly reclaimAgeMs: number;
  /** How long a spent key is remembered at least, ms. */
  readonly spentKeyMs: number;
  /** Requests under way from a Worker to one object below which the next goes alone: it has nobody to share with. */
  readonly aloneMax: number;
  /** Batches that a lane of a Host has under way at a time. */
  readonly laneBatches: number;
  /** Whether an index shard waits for the disk before a group write; a trick that only workerd needs. */
  readonly syncBeforeGroup: boolean;
  /** How long an index shard waits between two passes over its old rows, ms. */
  readonly indexPassMs: number;
  /** How soon a Host reports changed blocks to its Pools, ms: figures of a directory are no older. */
  readonly reportMs: number;
  /** How long a Pool keeps reported figures in memory alone, ms: one row for all of a block in that time. */
  readonly figuresMs: number;
  /** How far ahead of its need a Host in a burst claims its next block, ms; 0: never. */
  readonly claimAheadMs: number;
  /** How long a Host gathers refusals before it tells Cluster of them, ms. */
  readonly refusalsMs: number;
  /** How often the Sweep's own alarm stands in for a cron trigger, ms; 0: there is a cron trigger. */
  readonly tickMs: number;
  /** How long the Sweep leaves others alone after each few hosts, at least, ms; 0: others are on other machines. */
  readonly sweepRestMs: number;
  /** How often the Sweep compares and mends all records by itself, ms; 0: never. */
  readonly upkeepMs: number;
}

/** One machine: all objects share a clock and a process. */
export const LOCAL_SETTINGS: Settings = {
  leaseMs: 1_000,
  skewMs: 50,
  untilMs: 2_000,
  indexShards: 1,
  reclaimAgeMs: 60_000,
  spentKeyMs: 600_000,
  aloneMax: 4,
  laneBatches: 1,
  syncBeforeGroup: true,
  indexPassMs: 600_000,
  reportMs: 5_000,
  figuresMs: 30_000,
  claimAheadMs: 100,
  refusalsMs: 10_000,
  tickMs: 60_000,
  sweepRestMs: 20,
  upkeepMs: 86_400_000,
};

/** Cloudflare: objects live on many machines. */
export const EDGE_SETTINGS: Settings = {
  ...LOCAL_SETTINGS,
  leaseMs: 10_000,
  skewMs: 1_000,
  indexShards: 16,
  laneBatches: 2,
  syncBeforeGroup: false,
  tickMs: 0,
  sweepRestMs: 0,
};
