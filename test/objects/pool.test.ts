/** The Pool on workerd: blobs as keys, rows as the platform counts them. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { poolObjectName } from "../../src/core/ids.ts";
import { evict } from "../support/objects/deployment.ts";

const wish = { known: [], excluded: [], tried: [] };

function pool(name: string, cidr: string, blockSize: number) {
  const stub = env.POOL.get(env.POOL.idFromName(poolObjectName(name, 0)));
  return { stub, target: { pool: name, incarnation: 0, cidr, blockSize } };
}

test("claims, reclaims and releases in a pool of 2^74 blocks, over evictions", async () => {
  const { stub, target } = pool("large", "fd00::/48", 122);
  const first = await stub.claim({ ...target, ...wish, owner: "a" });
  if (first.kind !== "claim") throw new Error(first.kind);
  await evict(stub);
  const again = await stub.claim({ ...target, ...wish, owner: "a" });
  expect(again).toMatchObject({ kind: "claim", block: first.block, epoch: first.epoch + 1 });
  const rest = { owner: "a", block: first.block, draining: false };
  expect(await stub.release({ ...target, ...rest, epoch: first.epoch })).toEqual({ applied: false });
  expect(await stub.release({ ...target, ...rest, epoch: first.epoch + 1 })).toEqual({ applied: true });
  expect((await stub.find({ ...target, block: first.block })).entry?.state).toBe("free");
  const all = await stub.claim({ ...target, ...wish, owner: "b", excluded: [[0n, 1n << 73n]] });
  expect(all.kind).toBe("claim");
  const none = await stub.claim({ ...target, ...wish, owner: "c", excluded: [[0n, (1n << 74n) - 1n]] });
  expect(none.kind).toBe("none");
});

test("a claim reads and writes as few rows when 250 of 256 blocks are taken as when one is", async () => {
  const { stub, target } = pool("small-blocks", "10.0.0.0/22", 30);
  const cost: { read: number; written: number }[] = [];
  for (let i = 0; i < 250; i += 1) {
    const before = await stub.counters();
    expect((await stub.claim({ ...target, ...wish, owner: `node-${i}` })).kind).toBe("claim");
    const after = await stub.counters();
    cost.push({
      read: after.rowsRead - before.rowsRead,
      written: after.rowsWritten - before.rowsWritten,
    });
  }
  for (const { read, written } of cost.slice(1)) {
    expect(read).toBeLessThanOrEqual(6);
    expect(written).toBeLessThanOrEqual(4);
  }
  expect((await stub.list({ ...target, limit: 1000 })).entries.length).toBe(250);
});
