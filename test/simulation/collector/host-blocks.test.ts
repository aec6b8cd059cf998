/**
 * What an audit does with blocks: empty ones go after the grace, borrowed-from ones are forgotten when vacant.
 */
import { describe, expect, test } from "vitest";
import { HOST_A, ownerOf, rowsOf, TWO_BLOCKS } from "../histories/stage.ts";
import { MINUTE, type Stage, staged } from "./host-stage.ts";

const A = "10.0.0.0/30";
const B = "10.0.0.4/30";
const AFFINITIES = "10.0.0.0/28";
const FOUR = { default: { cidr: AFFINITIES, blockSize: 30 } };

/** The host has used two blocks and given the addresses of one back. */
async function twoBlocks(): Promise<Stage> {
  const stage = await staged({ pools: FOUR, hosts: ["a", "b"] });
  await stage.pod("a", "one", { v4: 4 });
  await stage.pod("a", "two", { v4: 2 });
  await stage.world.during(stage.scene.release("net.two"));
  expect(rowsOf(stage.scene)).toEqual([`a ${A} confirmed`, `a ${B} confirmed`]);
  return stage;
}

describe("an empty block", () => {
  test("goes when it was empty for more than the grace, seen twice", async () => {
    const stage = await twoBlocks();
    await stage.audited("a");
    await stage.world.advance(10 * MINUTE);
    expect(rowsOf(stage.scene)).toHaveLength(2);
    await stage.world.advance(1_000);
    await stage.audited("a");
    expect(rowsOf(stage.scene)).toEqual([`a ${A} confirmed`]);
    expect(ownerOf(stage.scene, B)).toBeUndefined();
    expect(stage.faults()).toEqual([]);
  });

  test("keeps its mark over a crash, and begins anew when it was used between", async () => {
    const stage = await twoBlocks();
    await stage.audited("a");
    stage.world.evict(HOST_A);
    await stage.world.advance(6 * MINUTE);
    await stage.pod("a", "three");
    await stage.world.during(stage.scene.release("net.three"));
    await stage.world.advance(6 * MINUTE);
    await stage.audited("a");
    expect(rowsOf(stage.scene)).toHaveLength(2);
    stage.world.evict(HOST_A);
    await stage.world.advance(11 * MINUTE);
    await stage.audited("a");
    expect(rowsOf(stage.scene)).toHaveLength(1);
  });

  test("stays when the collector is paused, or the host is being migrated", async () => {
    const stage = await twoBlocks();
    stage.brakes.answer = () => ({ granted: 0, stop: "paused" });
    await stage.audited("a");
    await stage.world.advance(11 * MINUTE);
    await stage.audited("a");
    expect(rowsOf(stage.scene)).toHaveLength(2);
    stage.brakes.answer = () => ({ granted: 0 });
    const labels = { "projectcalico.org/node-network-during-migration": "flannel" };
    await stage.world.during(stage.scene.deployed.ports.host("a").register({ host: "a", labels }));
    await stage.audited("a");
    await stage.world.advance(20 * MINUTE);
    await stage.audited("a");
    expect(rowsOf(stage.scene)).toHaveLength(2);
  });

  test("stays where it is the last one of its family", async () => {
    const stage = await staged({ pools: FOUR });
    await stage.pod("a", "one");
    await stage.world.during(stage.scene.release("net.one"));
    await stage.audited("a");
    await stage.world.advance(30 * MINUTE);
    await stage.audited("a");
    expect(rowsOf(stage.scene)).toEqual([`a ${A} confirmed`]);
  });

  test("keeps an address that is handed out while it is given back", async () => {
    const stage = await twoBlocks();
    await stage.audited("a");
    await stage.world.advance(11 * MINUTE);
    const late = stage.world.hold({ method: "releaseAffinity", kind: "request" });
    const audit = stage.audit("a");
    await stage.world.advance(20);
    expect(late.messages).toHaveLength(1);
    const added = stage.scene.allocate("a", { handle: "net.late", v4: 1 });
    await stage.world.advance(20);
    late.release();
    await stage.world.during(Promise.all([added, audit]));
    expect(stage.faults()).toEqual([]);
  });
});

describe("a block that was borrowed from", () => {
  test("is forgotten when nothing of the host is there any more, and not before", async () => {
    const stage = await staged({ pools: TWO_BLOCKS });
    await stage.pod("b", "b", { v4: 5 });
    await stage.pod("a", "a");
    const borrowed = () => stage.world.rows(HOST_A, "SELECT block FROM borrowed");
    expect(borrowed()).toHaveLength(1);
    for (let visit = 0; visit < 3; visit += 1) {
      await stage.world.advance(11 * MINUTE);
      await stage.audited("a");
    }
    expect(borrowed()).toHaveLength(1);
    await stage.world.during(stage.scene.release("net.a"));
    for (let visit = 0; visit < 2; visit += 1) {
      await stage.world.advance(11 * MINUTE);
      await stage.audited("a");
    }
    expect(borrowed()).toEqual([]);
    await stage.pod("a", "again");
    expect(borrowed()).toHaveLength(1);
    expect(stage.faults()).toEqual([]);
  });

  test("is not forgotten while what the host gave back there cools: a list finds it by that row", async () => {
    const config = { leakGraceSeconds: 600, staleReportSeconds: 300, ipCooldownSeconds: 1200 };
    const stage = await staged({ pools: TWO_BLOCKS, config });
    await stage.pod("b", "b", { v4: 5 });
    await stage.pod("a", "a");
    await stage.world.during(stage.scene.release("net.a"));
    const borrowed = () => stage.world.rows(HOST_A, "SELECT block FROM borrowed").length;
    const auditedAfter = async (pauseMs: number) => {
      await stage.world.advance(pauseMs);
      await stage.audited("a");
    };
    for (let visit = 0; visit < 3; visit += 1) await auditedAfter(5 * MINUTE);
    expect(borrowed()).toBe(1);
    for (let visit = 0; visit < 3; visit += 1) await auditedAfter(5 * MINUTE);
    expect(borrowed()).toBe(0);
    expect(stage.faults()).toEqual([]);
  });

  test("a removed host that borrowed from hundreds of blocks is forgotten in the end", async () => {
    const stage = await staged({ pools: { default: { cidr: "10.0.0.0/20", blockSize: 30 } } });
    await stage.pod("a", "a");
    const { ports } = stage.scene.deployed;
    for (let block = 0; block < 700; block += 1) {
      const at = 4 * (block + 100);
      const name = `10.0.${Math.floor(at / 256)}.${at % 256}/30`;
      const note = { host: "a", block: name, pool: "default", incarnation: 0 };
      await stage.world.during(ports.host("a").noteBorrowed(note));
    }
    await stage.world.during(ports.host("a").remove({ host: "a" }));
    await stage.world.advance(60_000);
    expect((await stage.world.during(ports.host("a").describe({ host: "a" }))).view).toBeUndefined();
    expect(stage.faults()).toEqual([]);
  });
});
