/**
 * The directed histories by name: each is silent, and finds a planted fault at its first playing.
 * May import: the directed histories.
 */
import * as collector from "./collector.ts";
import * as hosts from "./hosts.ts";
import * as keys from "./keys.ts";
import * as ownership from "./ownership.ts";
import type { Directed } from "./perform.ts";
import * as policy from "./policy.ts";
import * as pools from "./pools.ts";
import * as releases from "./releases.ts";

export const DIRECTED: Readonly<Record<string, Directed>> = {
  ...collector,
  ...hosts,
  ...keys,
  ...ownership,
  ...policy,
  ...pools,
  ...releases,
};
