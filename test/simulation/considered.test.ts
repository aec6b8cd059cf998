/** What a refusal tells: every pool once with its rule, blocks in the order tried, and limits that come first. */
import { afterEach, describe, expect, test } from "vitest";
import type { Considered } from "../../src/core/errors.ts";
import { poolObjectName } from "../../src/core/ids.ts";
import type { HostAllocateAnswer, HostAllocateRequest } from "../../src/rpc/host.ts";
import { Scene, type SceneOptions } from "../support/simulation/scene.ts";

let scene: Scene;
afterEach(() => scene?.world.report());

let keys = 0;

function request(host: string, handle: string, more: Partial<HostAllocateRequest> = {}): HostAllocateRequest {
  keys += 1;
  return {
    host,
    handle,
    key: `key-${keys}`,
    fingerprint: "f",
    use: "Workload",
    ipv4: { count: 1 },
    attributes: { node: host },
    partial: false,
    leakCollection: "auto",
    ...more,
  };
}

const allocate = (wish: HostAllocateRequest) =>
  scene.world.during(scene.deployed.ports.host(wish.host).allocate(wish));

async function got(wish: HostAllocateRequest): Promise<HostAllocateAnswer> {
  const answer = await allocate(wish);
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
}

interface Refused {
  readonly code: string;
  readonly considered: readonly Considered[];
  readonly omitted: number;
}

async function refused(wish: HostAllocateRequest): Promise<Refused> {
  const answer = await allocate(wish);
  if (answer.ok) throw new Error("it was not refused");
  const { code, evidence } = answer.error;
  const [shortfall] = "shortfall" in evidence ? evidence.shortfall : [];
  return { code, considered: shortfall?.considered ?? [], omitted: shortfall?.consideredOmitted ?? 0 };
}

const pools = ({ considered }: Refused) =>
  considered.filter(({ kind }) => kind === "pool").map(({ pool, outcome, rule }) => [pool, outcome, rule]);
const blocks = ({ considered }: Refused) => considered.filter(({ kind }) => kind === "block");

async function open(options: SceneOptions): Promise<void> {
  scene = await Scene.open(options);
}

const SMALL = { p: { cidr: "10.0.0.0/29", blockSize: 30 } };

describe("considered", () => {
  test("each pool of the family stands there once, the others by the rule that excluded them", async () => {
    await open({ pools: { ...SMALL, off: { cidr: "10.1.0.0/29", blockSize: 30, disabled: true } as never } });
    await got(request("a", "h1", { ipv4: { count: 8 } }));
    const full = await refused(request("a", "h2"));
    expect(full.code).toBe("pool_exhausted");
    expect(pools(full)).toEqual([
      ["off", "skipped", "pool_disabled"],
      ["p", "full", "no_unclaimed_block"],
    ]);
    expect(blocks(full).map(({ block, owner, rule, allocated }) => [block, owner, rule, allocated])).toEqual([
      ["10.0.0.0/30", "a", "full", 4],
      ["10.0.0.4/30", "a", "full", 4],
    ]);
  });

  test("a cap names itself in the pool's row, with how many blocks are owned", async () => {
    await open({ pools: SMALL, config: { strictAffinity: true, maxBlocksPerHost: 1 } });
    await got(request("a", "h1", { ipv4: { count: 4 } }));
    const full = await refused(request("a", "h2"));
    expect(full.code).toBe("block_limit_reached");
    expect(full.considered[0]).toMatchObject({
      kind: "pool",
      outcome: "full",
      rule: "cap_reached",
      detail: "a owns 1 of at most 1 blocks",
    });
  });

  test("I8: strict affinity names the pool and the block of another that has room", async () => {
    await open({ pools: { p: { cidr: "10.0.0.0/30", blockSize: 30 } }, config: { strictAffinity: true } });
    await got(request("a", "h1"));
    await scene.world.advance(6_000);
    const barred = await refused(request("b", "h2"));
    expect(barred.code).toBe("strict_affinity");
    expect(pools(barred)).toEqual([["p", "full", "strict_affinity"]]);
    expect(blocks(barred)).toMatchObject([
      { block: "10.0.0.0/30", owner: "a", outcome: "skipped", rule: "strict_affinity" },
    ]);
  });

  test("blocks of others that were full stand under their owners", async () => {
    await open({ pools: { p: { cidr: "10.0.0.0/30", blockSize: 30 } } });
    await got(request("a", "h1", { ipv4: { count: 3 } }));
    await got(request("b", "h2"));
    scene.world.evict(poolObjectName("p", 0));
    const full = await refused(request("b", "h3"));
    expect(full.code).toBe("pool_exhausted");
    expect(blocks(full)).toMatchObject([{ block: "10.0.0.0/30", owner: "a", outcome: "full", allocated: 4 }]);
  });

  test("an empty block of another that was claimed a moment ago is named as too young to be asked back", async () => {
    await open({ pools: { p: { cidr: "10.0.0.0/30", blockSize: 30 } }, config: { strictAffinity: true } });
    const { addresses } = await got(request("a", "h1"));
    const { block = "", address = "", sequenceNumber = 0 } = addresses[0]?.record ?? {};
    await scene.world.during(scene.releaseAddress(block, { address, sequenceNumber }));
    await scene.world.advance(6_000);
    const barred = await refused(request("b", "h2"));
    expect(blocks(barred)).toContainEqual({
      kind: "block",
      pool: "p",
      block,
      owner: "a",
      outcome: "skipped",
      rule: "reclaim_too_young",
    });
    await scene.world.advance(60_000);
    expect((await got(request("b", "h3"))).addresses[0]?.record.blockOwner).toBe("b");
  });

  test("at most 64 rows are listed, the rest is counted", async () => {
    await open({ pools: { p: { cidr: "10.0.0.0/24", blockSize: 31 } }, config: { strictAffinity: true } });
    await scene.world.during(
      scene.deployed.ports
        .cluster()
        .changeConfig({ patch: { strictAffinity: true, maxBlocksPerHost: 80 }, by: "t" }),
    );
    await got(request("a", "h1", { ipv4: { count: 160 } }));
    const full = await refused(request("a", "h2"));
    expect(full.considered).toHaveLength(64);
    expect(full.omitted).toBe(80 + 1 - 64);
  });

  test("an answer that was asked to explain itself tells where the addresses came from", async () => {
    await open({ pools: SMALL });
    const { explanation } = await got(request("a", "h1", { ipv4: { count: 5 }, explain: true }));
    expect(explanation).toMatchObject({ wouldSucceed: true, hostKnown: true });
    const [family] = explanation?.families ?? [];
    expect(family).toMatchObject({ requested: 5, allocated: 5, ownedBlocks: 2, blockCap: 20 });
    expect(family?.considered.map(({ kind, rule, outcome }) => [kind, rule, outcome])).toEqual([
      ["pool", "ok", "used"],
      ["block", "ok", "used"],
      ["block", "ok", "used"],
    ]);
  });
});

describe("limits per handle where no block has room", () => {
  test("I9: what the handle holds is the answer, with a new touch", async () => {
    await open({ pools: SMALL });
    const first = await got(request("a", "vm", { maxPerHandle: 1 }));
    await got(request("a", "filler", { ipv4: { count: 7 } }));
    const again = await got(request("b", "vm", { maxPerHandle: 1 }));
    expect(again.reused).toBe(true);
    expect(again.addresses[0]?.record.address).toBe(first.addresses[0]?.record.address);
    expect(again.addresses[0]?.record.touch).toBeGreaterThan(first.addresses[0]?.record.touch ?? 0);
  });

  test("I9: a handle that holds fewer than is asked for is refused by its limit, not by the pool", async () => {
    await open({ pools: SMALL });
    await got(request("a", "vm", { maxPerHandle: 2 }));
    await got(request("a", "filler", { ipv4: { count: 7 } }));
    const answer = await refused(request("a", "vm", { ipv4: { count: 2 }, maxPerHandle: 2 }));
    expect(answer.code).toBe("handle_limit_reached");
  });
});
