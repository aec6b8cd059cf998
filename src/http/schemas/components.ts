/**
 * Every component of openapi.yaml under its contract name, and the types of their values.
 * May import: the schema files. A schema that is no component must not be nested in one.
 */
import * as affinity from "./affinity.ts";
import * as allocation from "./allocation.ts";
import * as batch from "./batch.ts";
import * as block from "./block.ts";
import * as check from "./check.ts";
import * as event from "./event.ts";
import * as gc from "./gc.ts";
import * as host from "./host.ts";
import * as leak from "./leak.ts";
import * as ownership from "./ownership.ts";
import * as policy from "./policy.ts";
import * as problem from "./problem.ts";
import * as status from "./status.ts";
import * as system from "./system.ts";
import type { z } from "./zod.ts";

export const components = {
  ...problem,
  ...allocation,
  ...ownership,
  ...batch,
  ...policy,
  ...host,
  ...block,
  ...affinity,
  ...system,
  ...status,
  ...event,
  ...check,
  ...gc,
  ...leak,
} as const;

export type ComponentName = keyof typeof components;

/** The value of each component as it travels: `Wire["Pool"]`. */
export type Wire = { [K in ComponentName]: z.infer<(typeof components)[K]> };
