/** H9–H13 on the real runtime: claims, releases of blocks, drains and removals that a SIGKILL cuts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setFaults, untilFaulty } from "../../support/control.ts";
import type { Tenure } from "../../support/history.ts";
import { pause } from "../load/recorder.ts";
import { cutAt, FINAL_MS, Stage } from "./stage.ts";

let stage: Stage;
let pools = 0;

beforeAll(async () => {
  stage = await Stage.open(["a", "b", "c"]);
}, 60_000);

afterAll(async () => {
  await stage.close();
});

/** A pool of its own for each history: `blocks` of four addresses. */
async function freshPool(blocks: number): Promise<{ name: string; base: string }> {
  pools += 1;
  const name = `own-${pools}`;
  const base = `10.50.${pools}.`;
  await stage.pool(name, `${base}0/${30 - Math.log2(blocks)}`, 30);
  return { name, base };
}

interface WireBlock {
  readonly cidr: string;
  readonly affinity?: { readonly name: string; readonly state: string };
}

async function blocksOf(pool: string): Promise<readonly (readonly [string, string | undefined])[]> {
  const blocks = await stage.client.all<WireBlock>(`/v1/blocks?pool=${pool}`);
  return blocks.map(({ cidr, affinity }) => [cidr, affinity?.name]);
}

async function routesTo(cidr: string): Promise<string[]> {
  const routes = await stage.client.all<{ destination: string; host: string }>("/v1/routes");
  return routes.filter(({ destination }) => destination === cidr).map(({ host }) => host);
}

describe("H9: a host is killed while it claims the last block", () => {
  it.each([
    ["the Pool's answer", "pool.claim", "after"],
    ["the block hears of it", "block.claim", "before"],
    ["the block's answer", "block.claim", "after"],
    ["the first address", "block.allocate", "before"],
  ] as const)(
    "I6: before %s: another gets the block in the end, and no route is there twice",
    async (_, method, where) => {
      const { name, base } = await freshPool(1);
      await stage.client.must("PATCH", "/v1/config", { strictAffinity: true });
      await stage.cut(cutAt(method, where), () => stage.recorder.allocate(stage.wish(name, "a")));
      const wish = stage.wish(name, "b");
      const cidr = `${base}0/30`;
      await stage.until("b gets an address", async () => {
        expect((await routesTo(cidr)).length).toBeLessThanOrEqual(1);
        return (await stage.recorder.allocate(wish)).outcome === "ok";
      });
      expect(await blocksOf(name)).toEqual([[cidr, "b"]]);
      await stage.until("the route to b", async () => (await routesTo(cidr)).join() === "b");
      await stage.client.must("PATCH", "/v1/config", { strictAffinity: false });
    },
    60_000,
  );
});

describe("H10: a block is given up, killed on the way, while its host allocates in it", () => {
  it.each([
    ["block.releaseAffinity", "before"],
    ["block.releaseAffinity", "after"],
    ["pool.release", "before"],
    ["pool.release", "after"],
  ] as const)(
    "I4 I6: %s, %s: what is acknowledged is held, and row and block agree",
    async (method, where) => {
      const { name } = await freshPool(1);
      const first = await stage.recorder.allocateSurely(stage.wish(name));
      await stage.recorder.release({ handle: first.handle });
      await pause(FINAL_MS);
      const wish = stage.wish(name);
      const both = async (): Promise<void> => {
        const given = stage.client.send("POST", "/v1/affinity-releases", { host: "a", pool: name });
        await untilFaulty(stage.client);
        await Promise.allSettled([given, stage.recorder.allocate(wish)]);
      };
      // The allocation gets as far as it can beside the release before both are cut.
      await stage.cut(cutAt(method, where), both, 300);
      const answer = await stage.recorder.allocateSurely(wish);
      expect(answer.outcome).toBe("ok");
      expect(await stage.held(wish.handle)).toEqual(answer.got);
      const cidr = answer.got[0]?.block ?? "";
      const [[, owner] = []] = await blocksOf(name);
      const { ipv4 } = (await stage.client.must("GET", "/v1/hosts/a")) as { ipv4?: { pending: number } };
      expect({ owner, pending: ipv4?.pending }).toEqual({ owner: "a", pending: 0 });
      await stage.until("its route", async () => (await routesTo(cidr)).join() === "a");
    },
    60_000,
  );
});

describe("H11: 30 requests at once in two pools and both families, cap 2, killed", () => {
  it("I10: no more than 2 blocks of a family at any time, in whatever state", async () => {
    const [one, two] = [await freshPool(8), await freshPool(8)];
    await stage.pool("own-six", "fd00:50::/123", 126);
    const seen: number[] = [];
    const look = async (): Promise<void> => {
      const { ipv4, ipv6 } = (await stage.client.must("GET", "/v1/hosts/c")) as {
        ipv4?: { owned: number; pending: number };
        ipv6?: { owned: number; pending: number };
      };
      for (const family of [ipv4, ipv6]) seen.push((family?.owned ?? 0) + (family?.pending ?? 0));
    };
    const wishes = Array.from({ length: 30 }, (_, number) => {
      const wish = stage.dualWish(number % 2 === 0 ? one.name : two.name, "own-six", "c");
      return { ...wish, more: { ...wish.more, maxBlocksPerHost: 2 } };
    });
    await stage.cut(cutAt("block.claim", "after"), async () => {
      await Promise.all(wishes.map((wish) => stage.recorder.allocate(wish)));
    });
    let isOver = false;
    const watch = async (): Promise<void> => {
      for (; !isOver; await pause(20)) await look();
    };
    const watching = watch();
    const answers = await Promise.all(wishes.map((wish) => stage.recorder.allocateSurely(wish)));
    isOver = true;
    await watching;
    await look();
    expect(Math.max(...seen)).toBe(2);
    expect(answers.filter(({ outcome }) => outcome === "ok").length).toBeGreaterThan(0);
    expect(new Set(answers.map(({ outcome }) => outcome))).not.toContain("unknown");
  }, 60_000);
});

describe("H12: a drain with live addresses is killed", () => {
  it.each([
    ["host.releaseBlock", "before"],
    ["block.releaseAffinity", "after"],
    ["pool.release", "before"],
  ] as const)(
    "I3 I7: %s, %s: nothing new, gone only when empty, old releases free nothing",
    async (method, where) => {
      const { name, base } = await freshPool(4);
      const held: Tenure[] = [];
      for (const host of ["a", "b"]) {
        held.push(...(await stage.recorder.allocateSurely(stage.wish(name, host))).got);
      }
      await stage.cut(cutAt(method, where), async () => {
        await stage.client.must("DELETE", `/v1/pools/${name}`);
        await untilFaulty(stage.client);
      });
      const exact = { ...stage.wish(name, "c"), more: {}, address: `${base}14` };
      const claim = { host: "c", cidr: `${base}12/30` };
      expect((await stage.recorder.allocate(stage.wish(name, "c"))).code).toBe("requested_pool_unavailable");
      expect((await stage.recorder.allocate(exact)).outcome).toBe("refused");
      expect((await stage.client.send("POST", "/v1/affinity-claims", claim)).status).toBe(409);
      await pause(FINAL_MS);
      expect(await stage.client.must("GET", `/v1/pools/${name}`)).toMatchObject({ state: "draining" });
      const sorted = (some: readonly Tenure[]) => some.map(({ address }) => address).toSorted();
      expect(sorted(await stage.heldInPool(name))).toEqual(sorted(held));
      for (const { handle } of held) await stage.recorder.release({ handle });
      await stage.until("the pool is gone", async () => {
        return (await stage.client.send("GET", `/v1/pools/${name}`)).status === 404;
      });
      await stage.pool(name, `${base}0/28`, 29);
      for (const old of held) {
        const now = { ...stage.wish(name, "c"), more: {}, address: old.address };
        expect((await stage.recorder.allocateSurely(now)).outcome).toBe("ok");
        const { address, sequenceNumber } = old;
        const { results } = await stage.recorder.release({ address, sequenceNumber });
        expect(results).toMatchObject([{ outcome: "rejected", code: "sequence_mismatch" }]);
        expect(await stage.held(now.handle)).toHaveLength(1);
      }
    },
    90_000,
  );
});

describe("H13: a removal is killed, the host comes back and claims", () => {
  it.each([
    ["block.releaseAffinity", "before"],
    ["block.releaseAffinity", "after"],
    ["pool.release", "before"],
  ] as const)(
    "I6: %s, %s: the blocks of the new incarnation stay",
    async (method, where) => {
      const { name } = await freshPool(4);
      const host = `back-${pools}`;
      const register = (incarnation: string) =>
        stage.client.must("PUT", `/v1/hosts/${host}`, { labels: {}, incarnation });
      await register("one");
      const old = await stage.recorder.allocateSurely(stage.wish(name, host));
      await stage.cut(cutAt(method, where), async () => {
        await stage.client.must("DELETE", `/v1/hosts/${host}`);
        await untilFaulty(stage.client);
      });
      await register("two");
      const answer = await stage.recorder.allocateSurely(stage.wish(name, host));
      expect(answer.outcome).toBe("ok");
      const owned = answer.got[0]?.block ?? "";
      await pause(FINAL_MS);
      expect((await blocksOf(name)).find(([cidr]) => cidr === owned)).toEqual([owned, host]);
      expect(await stage.held(old.handle)).toEqual(old.got);
      expect(await stage.held(answer.handle)).toEqual(answer.got);
    },
    60_000,
  );
});

it("I1, I3, I4, I5, I6, I13: the history of all these requests holds, and one repair makes all agree", async () => {
  await setFaults(stage.client, []);
  expect(await stage.violations()).toEqual([]);
  expect(await stage.disagreements()).toEqual([]);
}, 90_000);
