/** Routes on the simulated platform: what a Host confirmed, what a block lends, and late or lost words. */
import { describe, expect, test } from "vitest";
import type { PoolPort } from "../../src/rpc/pool.ts";
import { poolWorld } from "./pool-world.ts";
import { POOL, REPEATED_MS, routesWorld, TARGET } from "./routes-world.ts";

const TINY = { ...TARGET, cidr: "10.0.0.0/29", blockSize: 30 };

describe("routes of blocks", () => {
  test("I6: a block is routed once its Host has confirmed it, and not before", async () => {
    const { world, scene, routes, revision } = await routesWorld();
    expect(await routes()).toEqual([]);
    const before = await revision();
    const confirmed = world.hold({ fromClass: "BlockObject", method: "claim", kind: "answer" });
    const got = scene.allocate("a", { handle: "one" });
    await world.advance(50);
    const rows = () => world.rows(POOL, "SELECT state, confirmed IS NOT NULL AS routed FROM block");
    expect(confirmed.messages).toHaveLength(1);
    expect(rows()).toEqual([{ state: "owned", routed: 0 }]);
    confirmed.release();
    expect(await world.during(got)).toMatchObject({ kind: "ok" });
    expect(await routes()).toEqual([expect.stringMatching(/^10\.0\.0\.\d+\/26 a$/)]);
    expect(await revision()).toBeGreaterThan(before);
  });

  test("a word that was lost is told again by the Host's alarm, after a wake too", async () => {
    const { world, take, routes } = await routesWorld();
    world.drop({ toClass: "PoolObject", method: "report", kind: "request" }, { times: 2 });
    const [address] = await take("a", "one");
    expect(await routes()).toEqual([]);
    world.evict("host:v1:default:a");
    await world.advance(REPEATED_MS);
    expect(await routes()).toEqual([`${address?.block} a`]);
    expect(world.alarmOf("host:v1:default:a")).toBeNull();
  });

  test("a Host whose Pool has heard all tells nothing more", async () => {
    const { world, take, calls } = await routesWorld();
    await take("a", "one");
    // What a report of figures would tell anyway is over by then.
    await world.advance(5_500);
    const before = calls("HostObject>PoolObject.report");
    expect(before).toBeGreaterThan(0);
    await world.advance(REPEATED_MS);
    expect(calls("HostObject>PoolObject.report")).toBe(before);
  });

  test("a reclaim that fails moves no route and no revision", async () => {
    const { world, pool, take, routes, revision, target, ports } = await routesWorld();
    const [address] = await take("a", "one");
    const block = address?.block ?? "";
    const before = { routes: await routes(), revision: await revision() };
    const { epoch } = (await world.during(pool().fresh({ ...target, owner: "a", block }))) as {
      epoch: number;
    };
    const request = { host: "a", block, pool: target.pool, incarnation: 0, epoch, mustBeEmpty: true };
    const answer = await world.during(ports.host("a").releaseBlock({ ...request, forReclaim: false }));
    expect(answer.kind).toBe("block_not_empty");
    expect({ routes: await routes(), revision: await revision() }).toEqual(before);
    await world.advance(REPEATED_MS);
    expect({ routes: await routes(), revision: await revision() }).toEqual(before);
  });

  test("I6: a late word of a former owner changes nothing", async () => {
    const { world, take, release, giveBack, routes, pool, target } = await routesWorld({}, TINY);
    const late = world.hold({ toClass: "PoolObject", method: "report", kind: "request" });
    const [address] = await take("a", "one");
    const block = address?.block ?? "";
    await release("one");
    expect((await giveBack("a", block)).kind).toBe("released");
    const claim = { ...target, owner: "b", known: [], excluded: [], tried: [] };
    const other = await world.during(pool().fresh({ ...claim, block }));
    expect(other.kind).toBe("claim");
    expect(late.messages.length).toBeGreaterThan(0);
    late.release();
    await world.run();
    expect(await routes()).toEqual([]);
  });

  test("I6: a late word about a former ownership of the same host changes nothing", async () => {
    const { world, take, release, giveBack, routes, pool, target } = await routesWorld({}, TINY);
    const late = world.hold({ toClass: "PoolObject", method: "report", kind: "request" });
    const [address] = await take("a", "one");
    const block = address?.block ?? "";
    await release("one");
    await giveBack("a", block);
    await world.during(pool().fresh({ ...target, owner: "a", block }));
    const [first] = late.messages.map(({ args }) => args[0] as Parameters<PoolPort["report"]>[0]);
    late.release();
    await world.run();
    expect(await routes()).toEqual([]);
    // It is heard, so that nobody repeats it.
    const words = first?.blocks.filter(({ confirmed }) => confirmed !== undefined) ?? [];
    expect(words).toHaveLength(1);
    expect(await world.during(pool().report({ ...target, blocks: words }))).toMatchObject({ confirmed: 1 });
    expect(await routes()).toEqual([]);
  });

  test("a release that the directory's row has passed by ends the route all the same", async () => {
    const { world, take, release, routes, pool, target, ports } = await routesWorld({}, TINY);
    const [address] = await take("a", "one");
    const block = address?.block ?? "";
    await release("one");
    const fresh = () => world.during(pool().fresh({ ...target, owner: "a", block }));
    const { epoch } = (await fresh()) as { epoch: number };
    // Somebody asks for the block meanwhile, and is never heard of again.
    await fresh();
    expect(await routes()).toEqual([`${block} a`]);
    const request = { host: "a", block, pool: target.pool, incarnation: 0, epoch, mustBeEmpty: true };
    await world.during(ports.host("a").releaseBlock({ ...request, forReclaim: false }));
    expect(await routes()).toEqual([]);
    const again = await take("a", "two");
    expect(await routes()).toContain(`${again[0]?.block} a`);
  });

  test("a wake of the Pool loses no route", async () => {
    const { world, take, routes } = await routesWorld();
    await take("a", "one");
    await take("b", "two");
    const before = await routes();
    expect(before).toHaveLength(2);
    world.evict(POOL);
    expect(await routes()).toEqual(before);
  });
});

describe("routes of borrowed addresses", () => {
  /** Both blocks are `a`'s, one address is left in them, and `b` takes it. */
  async function lent() {
    const all = await routesWorld({}, TINY);
    await all.take("a", "most", 7);
    const owned = await all.routes();
    return { ...all, owned };
  }

  test("appear when another host takes one, and go when anybody releases it", async () => {
    const { take, owned, routes, revision, release, truth } = await lent();
    const before = await revision();
    const [address] = await take("b", "guest");
    expect(await routes()).toEqual([...owned, `${address?.address}/32 b`].toSorted());
    expect(await routes()).toEqual(truth());
    const during = await revision();
    expect(during).toBeGreaterThan(before);
    await release("guest");
    expect(await routes()).toEqual(owned);
    expect(await revision()).toBeGreaterThan(during);
  });

  test("the owner's own addresses cost no alarm and no call", async () => {
    const { take, alarmOf, release, calls } = await lent();
    const [address] = await take("a", "last");
    await release("last");
    expect(calls("BlockObject>PoolObject.borrowed")).toBe(0);
    expect(alarmOf(address?.block ?? "")).toBeNull();
    await take("b", "guest");
    expect(calls("BlockObject>PoolObject.borrowed")).toBe(1);
    expect(alarmOf(address?.block ?? "")).not.toBeNull();
  });

  test("a word that was lost is told again by the block's alarm, after a wake too", async () => {
    const { world, take, owned, routes, alarmOf } = await lent();
    world.drop({ toClass: "PoolObject", method: "borrowed", kind: "request" }, { times: 2 });
    const [address] = await take("b", "guest");
    expect(await routes()).toEqual(owned);
    const block = address?.block ?? "";
    world.evict(`block:v1:default:${block.replace("/", "-")}`);
    await world.advance(REPEATED_MS);
    expect(await routes()).toContain(`${address?.address}/32 b`);
    expect(alarmOf(block)).toBeNull();
  });

  test("an older set that arrives late changes nothing", async () => {
    const { world, take, owned, routes, release } = await lent();
    const late = world.hold({ fromClass: "BlockObject", method: "borrowed", kind: "request" });
    await take("b", "guest");
    const [first] = late.messages;
    expect(first?.args).toMatchObject([{ addresses: [{ host: "b" }] }]);
    await release("guest");
    // The alarm tells the newer set; it arrives before the older one.
    await world.advance(REPEATED_MS);
    const newest = late.messages.at(-1);
    expect(newest?.args).toMatchObject([{ addresses: [] }]);
    const arrive = (message: unknown) => world.during(world.call(POOL, "borrowed", message).promise);
    expect(await arrive(newest?.args[0])).toEqual({ applied: true });
    expect(await arrive(first?.args[0])).toEqual({ applied: false });
    expect(await routes()).toEqual(owned);
    late.release();
    await world.advance(REPEATED_MS);
    expect(await routes()).toEqual(owned);
  });

  test("a block that lost its owner routes each address to who holds it; when it has retired, none", async () => {
    const { world, take, giveBack, routes, release, truth, revision } = await routesWorld({}, TINY);
    const [one] = await take("a", "one");
    const block = one?.block ?? "";
    expect((await giveBack("a", block, false)).kind).toBe("draining");
    expect(await routes()).toEqual([`${one?.address}/32 a`]);
    expect(await routes()).toEqual(truth());
    const lentBefore = await revision();
    const unheard = world.hold({ fromClass: "BlockObject", method: "borrowed", kind: "request" });
    await release("one");
    // The block has retired by its alarm: whatever it lent is over, though its own word is not heard.
    await world.advance(60_000);
    expect(await routes()).toEqual([]);
    expect(await revision()).toBeGreaterThan(lentBefore);
    unheard.release();
    await world.advance(60_000);
    expect(await routes()).toEqual(truth());
  });

  test("I6: a block of one address that is lent has one route, to who holds it", async () => {
    const single = { ...TARGET, cidr: "10.0.0.0/31", blockSize: 32 };
    const { take, routes, giveBack, release } = await routesWorld({}, single);
    await take("a", "one");
    await take("a", "two");
    await release("two");
    const [guest] = await take("b", "guest");
    expect(await routes()).toEqual(
      [
        ...["10.0.0.0/32 a", "10.0.0.1/32 a"].filter((text) => !text.startsWith(`${guest?.address}/`)),
        `${guest?.address}/32 b`,
      ].toSorted(),
    );
    await giveBack("a", guest?.block ?? "", false);
    expect(await routes()).toContain(`${guest?.address}/32 b`);
  });
});

describe("pages", () => {
  test("R6: every route once, in the order of addresses, for all or for one host", async () => {
    const { page, take, routes } = await routesWorld({ hosts: ["a", "b", "c"] }, TINY);
    await take("a", "one", 3);
    await take("b", "two", 3);
    await take("c", "three", 2);
    const all = await routes();
    expect(all.length).toBeGreaterThanOrEqual(4);
    for (const host of [undefined, "a", "c", "nobody"]) {
      const seen: string[] = [];
      let after: string | undefined;
      for (let pages = 0; pages < 20; pages += 1) {
        const filter = { ...(host === undefined ? {} : { host }), ...(after === undefined ? {} : { after }) };
        const { routes: items, next } = await page({ limit: 1, ...filter });
        expect(items.length).toBeLessThanOrEqual(1);
        seen.push(...items.map(({ destination, host: to }) => `${destination} ${to}`));
        after = next;
        if (next === undefined) break;
      }
      expect(seen).toEqual(all.filter((text) => host === undefined || text.endsWith(` ${host}`)));
    }
  });
});

describe("a large pool", () => {
  test("a page reads as few rows at 262,144 blocks as its routes are, and one of a host is bounded", async () => {
    const { world, ask, fill, claim, counters, object } = poolWorld({ cidr: "10.0.0.0/8" });
    await claim("first");
    await fill(262_144);
    world.evict(object);
    const read = async (request: { after?: string; limit: number; host?: string }) => {
      const before = (await counters()).rowsRead;
      const page = await ask("routes", request);
      return { ...page, rows: (await counters()).rowsRead - before };
    };
    // Nobody has confirmed these blocks: pages are empty, and go on.
    const first = await read({ limit: 100 });
    expect(first).toMatchObject({ routes: [], next: expect.any(String) });
    expect(first.rows).toBeLessThanOrEqual(2 * 102);
    await ask("report", { blocks: [{ block: "10.128.0.0/26", confirmed: { epoch: 131_073 } }] });
    const middle = await read({ limit: 100, after: "10.127.255.255/32" });
    expect(middle.routes).toEqual([{ destination: "10.128.0.0/26", host: "filler-0", kind: "block" }]);
    expect(middle.rows).toBeLessThanOrEqual(2 * 102);
    expect((await read({ limit: 100, host: "filler-0" })).rows).toBeLessThanOrEqual(2 * 2_050);
  });
});

describe("waiting", () => {
  test("answers at once where the revision is another, else at the next change or when the time is over", async () => {
    const { world, pool, target, take, revision } = await routesWorld();
    await take("a", "one");
    const known = await revision();
    const begun = world.now;
    expect(
      await world.during(pool().routesRevision({ ...target, known: known - 1, waitMs: 20_000 })),
    ).toEqual({
      revision: known,
    });
    expect(world.now - begun).toBeLessThan(100);
    const waiting = pool().routesRevision({ ...target, known, waitMs: 20_000 });
    await world.deliver();
    await take("b", "two");
    expect((await world.during(waiting)).revision).toBeGreaterThan(known);
    expect(world.now - begun).toBeLessThan(1_000);
    const now = await revision();
    const over = await world.during(pool().routesRevision({ ...target, known: now, waitMs: 2_000 }));
    expect(over).toEqual({ revision: now });
    expect(world.now - begun).toBeGreaterThan(2_000);
  });

  test("is bounded: one more than may wait is answered at once; an eviction ends all", async () => {
    const { world, pool, target, take, revision } = await routesWorld();
    await take("a", "one");
    const known = await revision();
    const ask = () => pool().routesRevision({ ...target, known, waitMs: 20_000 });
    const waiting = Array.from({ length: 256 }, () => ask().catch(() => "cut off"));
    await world.deliver();
    const begun = world.now;
    const extra = ask();
    await world.deliver();
    expect(await Promise.race([extra, Promise.resolve("waits")])).toEqual({ revision: known });
    expect(world.now - begun).toBeLessThan(100);
    world.evict(POOL);
    expect(new Set(await world.during(Promise.all(waiting)))).toEqual(new Set(["cut off"]));
  });
});
