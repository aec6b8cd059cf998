/**
 * Schemas of the state of the service as an operator reads it first.
 * May import: the schema library and the schemas it is made of.
 */
import { time, whole } from "./answer-fields.ts";
import { GcStatus } from "./gc.ts";
import { Config, PoolUsage } from "./policy.ts";
import { z } from "./zod.ts";

export const Warning = z
  .object({
    code: z.string(),
    summary: z.string(),
    pool: z.string().optional(),
    host: z.string().optional(),
    hint: z.string().optional(),
  })
  .openapi("Warning");

export const HostCounts = z
  .object({
    active: whole(),
    silent: whole(),
    removing: whole(),
    reportsStale: whole().optional(),
    reportsNever: whole().optional(),
  })
  .openapi("HostCounts");

export const Status = z
  .object({
    ready: z.boolean(),
    apiVersion: z.string().openapi({ example: "1.0" }),
    serverVersion: z.string().optional(),
    deploymentId: z.string(),
    time: time(),
    capabilities: z.array(z.string()),
    config: Config,
    warnings: z.array(Warning),
    pools: z.array(PoolUsage).optional(),
    gc: GcStatus.optional(),
    hosts: HostCounts.optional(),
    refusalsLast10Minutes: whole().optional(),
  })
  .openapi("Status");
