/**
 * Schemas of blocks and their affinity.
 * May import: the schema library.
 */
import { cidrOut, counter, family, openSet, time, whole } from "./answer-fields.ts";
import { z } from "./zod.ts";

export const Affinity = z
  .object({
    type: openSet("host", "virtual"),
    name: z.string(),
    state: openSet("pending", "confirmed", "pendingDeletion"),
    claimedAt: time().optional(),
  })
  .openapi("Affinity");

export const Block = z
  .object({
    name: z.string().openapi({
      example: "10.244.3.0-26",
      description: "the CIDR with / written -; use it in paths",
    }),
    cidr: cidrOut(),
    pool: z.string(),
    family: family(),
    affinity: Affinity.optional(),
    capacity: whole(),
    allocated: whole(),
    cooling: whole(),
    hostReserved: whole().optional(),
    reserved: whole(),
    available: whole(),
    borrowed: whole(),
    sequenceNumber: counter(),
    epoch: counter(),
    nextFreeAt: time().optional(),
    asOf: time(),
    exact: z.boolean(),
    map: z
      .string()
      .openapi({
        description:
          "one character per ordinal: . free, # allocated, b borrowed, c cooling, r reserved, w host-reserved",
      })
      .optional(),
  })
  .openapi("Block");

export const Route = z
  .object({
    destination: cidrOut(),
    host: z.string(),
    kind: openSet("block", "borrowed"),
    family: family(),
    pool: z.string().optional(),
  })
  .openapi("Route");

export const RouteList = z
  .object({
    items: z.array(Route),
    revision: counter(),
    nextCursor: z.string().optional(),
    asOf: time(),
  })
  .openapi("RouteList");

export const BlockList = z
  .object({ items: z.array(Block), nextCursor: z.string().optional() })
  .openapi("BlockList");
