/** How much work of others a release takes on, and what it does with more than one event may ask. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defaultConfig } from "../../src/core/config.ts";
import { compilePolicy } from "../../src/core/policy.ts";
import { LOCAL_SETTINGS } from "../../src/core/settings.ts";
import { mapBounded } from "../../src/http/concurrency.ts";
import type { Call } from "../../src/http/operation.ts";
import { releaseByHandle } from "../../src/http/writing/release-by-handle.ts";
import type { ReleaseHandleRequest } from "../../src/rpc/block.ts";
import type { KeyRow, SettleItem } from "../../src/rpc/handle-index.ts";

const NOW = 1_000;
const SKEW_MS = 1;
/** Object calls that one event may make, with some to spare below the platform's 1,000. */
const CALLS_MAX = 900;
const policy = compilePolicy({ version: 1, config: defaultConfig(NOW), pools: [], reservations: [] });

const range = (count: number) => Array.from({ length: count }, (_, number) => number);
const blockOf = (n: number) => `10.${n >> 8}.${n & 255}.0/26`;
const addressIn = (block: string) => block.replace("0/26", "1");

/** Objects that count what each event asks of them. */
class Stage {
  readonly callsOf = new Map<string, number>();
  readonly held = new Map<string, Set<string>>();
  readonly hung = new Set<string>();
  listFailure: unknown;
  isIndexShort = false;
  /** The port of a block cannot even be made. */
  isBroken = false;
  readonly #event = new AsyncLocalStorage<string>();
  readonly #limits: (() => void)[] = [];
  readonly #ports = {
    handleIndex: () => ({
      list: async ({ handle }: { handle: string }) => {
        this.#count();
        return { rows: this.#rows(handle) };
      },
      listMany: async ({ handles }: { handles: readonly string[] }) => {
        this.#count();
        if (this.listFailure !== undefined) throw this.listFailure;
        return { lists: this.isIndexShort ? [] : handles.map((handle) => this.#rows(handle)) };
      },
      settle: async ({ items }: { items: readonly SettleItem[] }) => {
        this.#count();
        return { changed: this.#settle(items) };
      },
      settleMany: async ({ lots }: { lots: readonly (readonly SettleItem[])[] }) => {
        this.#count();
        return { changed: lots.map((items) => this.#settle(items)) };
      },
    }),
    block: (block: string) => {
      if (this.isBroken) throw new Error("no such object");
      return {
        releaseHandle: async (request: ReleaseHandleRequest) =>
          await this.#ask(block, () => this.#release(request)),
        releaseHandles: async ({ items }: { items: readonly ReleaseHandleRequest[] }) =>
          await this.#ask(block, () => ({ answers: items.map((one) => this.#release(one)) })),
      };
    },
  };

  hold(handle: string, ...blocks: readonly string[]): string {
    this.held.set(handle, new Set(blocks));
    return handle;
  }

  /** A request of its own, as an event of its own. */
  async request(name: string, ...handles: readonly string[]) {
    const call = {
      ports: this.#ports,
      settings: { ...LOCAL_SETTINGS, aloneMax: 0, skewMs: SKEW_MS },
      principal: { subject: "test", role: "admin", method: "none" },
      now: () => NOW,
      sleep: (ms: number) =>
        new Promise<void>((end) => (ms > SKEW_MS ? this.#limits.push(end) : setTimeout(end, ms))),
    } as unknown as Call;
    return await this.#event.run(name, () =>
      mapBounded(handles, (handle) => releaseByHandle(call, policy, handle), 8),
    );
  }

  /** Lets the limits of all messages pass; else none does, however slow the machine is. */
  passLimits(): void {
    for (const end of this.#limits.splice(0)) end();
  }

  get mostCalls(): number {
    return Math.max(...this.callsOf.values());
  }

  #count(): void {
    const event = this.#event.getStore() ?? "nobody";
    this.callsOf.set(event, (this.callsOf.get(event) ?? 0) + 1);
  }

  async #ask<T>(block: string, answer: () => T): Promise<T> {
    this.#count();
    if (this.hung.has(block)) await new Promise(() => undefined);
    return answer();
  }

  #rows(handle: string): KeyRow[] {
    return [...(this.held.get(handle) ?? [])].map((block) => {
      const row = { handle, key: `${handle}/${block}`, block, family: 4, count: 1, fingerprint: "" } as const;
      return { ...row, state: "reserved", attempt: "a", until: 0, untilBefore: 0, at: 0 };
    });
  }

  #release({ block, handle, keys }: ReleaseHandleRequest) {
    const record = { address: addressIn(block), handle, releasedAt: NOW, sequenceNumber: 1 };
    return { keys: keys.map(({ key }) => ({ key, outcome: "released", records: [record] })) };
  }

  #settle(items: readonly SettleItem[]): number {
    return items.filter(({ handle, block }) => this.held.get(handle)?.delete(block)).length;
  }
}

const rejections: unknown[] = [];
const note = (reason: unknown) => rejections.push(reason);

beforeEach(() => {
  rejections.length = 0;
  process.on("unhandledRejection", note);
});

afterEach(async () => {
  await new Promise((end) => setTimeout(end, 10));
  process.off("unhandledRejection", note);
  expect(rejections).toEqual([]);
});

const told = (...blocks: readonly string[]) => [
  { ok: true, value: blocks.map((block) => ({ address: addressIn(block), outcome: "released" })) },
];

describe("the calls of one event", () => {
  it("600 requests with addresses of their own in two blocks each: all are told, none asks too much", async () => {
    const stage = new Stage();
    const of = (n: number) => [blockOf(2 * n), blockOf(2 * n + 1)];
    const all = range(600).map((n) => stage.request(`r${n}`, stage.hold(`h${n}`, ...of(n))));
    expect(await Promise.all(all)).toMatchObject(range(600).map((n) => told(...of(n))));
    expect(stage.mostCalls).toBeLessThan(CALLS_MAX);
  });

  it("128 handles, each of them in the same 128 blocks", async () => {
    const stage = new Stage();
    const blocks = range(128).map(blockOf);
    const all = range(128).map((n) => stage.request(`r${n}`, stage.hold(`h${n}`, ...blocks)));
    expect(await Promise.all(all)).toMatchObject(range(128).map(() => told(...blocks)));
    expect(stage.mostCalls).toBeLessThan(CALLS_MAX);
  });

  it("a handle in 600 blocks that rides with others is released whole, at its own cost", async () => {
    const stage = new Stage();
    const blocks = range(600).map(blockOf);
    const many = stage.request("many", stage.hold("many", ...blocks));
    const others = range(127).map((n) => stage.request(`r${n}`, stage.hold(`h${n}`, blockOf(1_000 + n))));
    expect(await many).toMatchObject(told(...blocks));
    expect(await Promise.all(others)).toMatchObject(range(127).map((n) => told(blockOf(1_000 + n))));
    expect(stage.mostCalls).toBeLessThan(CALLS_MAX);
  });

  it("what is more than one event may ask is not said to be done, and is done when asked for again", async () => {
    const stage = new Stage();
    stage.hold("huge", ...range(2_000).map(blockOf));
    let answers = 0;
    for (let left = 2_000; left > 0; answers += 1) {
      const [answer] = await stage.request(`try ${answers}`, "huge");
      const now = stage.held.get("huge")?.size ?? 0;
      expect(now).toBeLessThan(left);
      left = now;
      if (left > 0) expect(answer).toMatchObject({ ok: false, error: { code: "in_progress" } });
      else expect(answer).toMatchObject({ ok: true });
    }
    expect(answers).toBeLessThan(5);
    expect(stage.mostCalls).toBeLessThan(CALLS_MAX);
  });

  it("a list of 64 handles in 20 blocks each, asked for until it is done", async () => {
    const stage = new Stage();
    const handles = range(64).map((n) => stage.hold(`h${n}`, ...range(20).map((m) => blockOf(20 * n + m))));
    const isDone = async (n: number) => (await stage.request(`try ${n}`, ...handles)).every(({ ok }) => ok);
    let tries = 1;
    while (!(await isDone(tries))) tries += 1;
    expect(tries).toBeLessThan(5);
    expect([...stage.held.values()].every(({ size }) => size === 0)).toBe(true);
    expect(stage.mostCalls).toBeLessThan(CALLS_MAX);
  });

  it("a list of 64 handles takes on no more of others than its event may ask", async () => {
    const stage = new Stage();
    const of = (n: number) => [blockOf(2 * n), blockOf(2 * n + 1)];
    const list = range(64).map((n) => stage.hold(`own${n}`, ...of(1_000 + n)));
    const own = stage.request("list", ...list);
    const waves: Promise<unknown>[] = [];
    for (let wave = 0; wave < 12; wave += 1) {
      const names = range(100).map((n) => stage.hold(`w${wave}-${n}`, ...of(100 * wave + n)));
      waves.push(Promise.all(names.map((name) => stage.request(name, name))));
      await new Promise((end) => setTimeout(end, 1));
    }
    expect((await own).every(({ ok }) => ok)).toBe(true);
    await Promise.all(waves);
    expect(stage.mostCalls).toBeLessThan(CALLS_MAX);
  });
});

describe("what hangs or is broken", () => {
  it("sixteen blocks that hang keep only what is in them", async () => {
    const stage = new Stage();
    const hung = range(40).map(blockOf);
    for (const block of hung) stage.hung.add(block);
    const hanging = hung.map((block, n) => stage.request(`slow${n}`, stage.hold(`slow${n}`, block)));
    const quick = stage.request("quick", stage.hold("quick", blockOf(99)));
    expect(await quick).toMatchObject(told(blockOf(99)));
    stage.passLimits();
    const ended = await Promise.allSettled(hanging);
    expect(ended.every(({ status }) => status === "rejected")).toBe(true);
  });

  it("a block that hangs ends a release that goes by itself, and the next one frees the rest", async () => {
    const stage = new Stage();
    // In more blocks than others are kept waiting for.
    const blocks = range(40).map(blockOf);
    const hung = blocks[7] as string;
    stage.hung.add(hung);
    stage.hold("many", ...blocks);
    let isOver = false;
    const asked = Promise.allSettled([stage.request("first", "many")]).finally(() => {
      isOver = true;
    });
    // Two look-ups, and all its blocks.
    while ((stage.callsOf.get("first") ?? 0) < 2 + blocks.length) await setImmediate();
    while (!isOver) {
      stage.passLimits();
      await setImmediate();
    }
    const [first] = await asked;
    expect(first).toMatchObject({ status: "rejected", reason: { retryable: true } });
    // As it is where no answer came: the index still lists what may not be over.
    expect(stage.held.get("many")).toContain(hung);
    stage.hung.clear();
    expect(await stage.request("second", "many")).toMatchObject([{ ok: true }]);
    expect(stage.held.get("many")?.size).toBe(0);
  });

  it("a look-up that fails for all is repeated by each at its own cost; a block that hangs then is one's own", async () => {
    const stage = new Stage();
    stage.listFailure = Object.assign(new Error("gone"), { retryable: true });
    const all = range(128).map((n) =>
      stage.request(`r${n}`, stage.hold(`h${n}`, blockOf(n), blockOf(500 + n))),
    );
    expect(await Promise.all(all)).toMatchObject(range(128).map((n) => told(blockOf(n), blockOf(500 + n))));
    expect(stage.mostCalls).toBeLessThan(10);
  });

  it("an index that lists fewer handles than it was asked for is no proof that the others hold nothing", async () => {
    const stage = new Stage();
    stage.isIndexShort = true;
    const all = ["a", "b"].map((name, n) => stage.request(name, stage.hold(name, blockOf(n))));
    for (const [place, answer] of (await Promise.allSettled(all)).entries()) {
      const isGone = stage.held.get(place === 0 ? "a" : "b")?.size === 0;
      expect(answer.status === "rejected" || isGone).toBe(true);
    }
  });

  it("a block whose port cannot be made fails its own, before any limit has passed", async () => {
    const stage = new Stage();
    stage.isBroken = true;
    const all = ["a", "b", "c"].map((name) => stage.request(name, stage.hold(name, blockOf(1))));
    const ended = await Promise.allSettled(all);
    expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});
