/** Handles that are released at the same time: what goes in one message, and what becomes of each. */
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../src/core/config.ts";
import { compilePolicy } from "../../src/core/policy.ts";
import { LOCAL_SETTINGS } from "../../src/core/settings.ts";
import type { Call } from "../../src/http/operation.ts";
import { releaseByHandle } from "../../src/http/writing/release-by-handle.ts";
import type { KeyRelease, ReleaseHandleRequest } from "../../src/rpc/block.ts";
import type { KeyRow, SettleItem } from "../../src/rpc/handle-index.ts";

const NOW = 1_000;
const SKEW_MS = 1;
const SLOW = "10.0.9.0/26";
const policy = compilePolicy({ version: 1, config: defaultConfig(NOW), pools: [], reservations: [] });

const rowIn = (handle: string, block: string): KeyRow => {
  const row = { handle, key: `key-of-${handle}`, block, family: 4, count: 1, fingerprint: "" } as const;
  return { ...row, state: "reserved", attempt: "a", until: 0, untilBefore: 0, at: 0 };
};

/** Objects that keep what they were asked; each handle has the blocks that it is said to have. */
class Stage {
  readonly asked: string[] = [];
  readonly blocksOf: Record<string, string[]> = {};
  /** Methods that fail, with what, as often as said. */
  readonly failures: Record<string, { readonly error: unknown; times: number }> = {};
  readonly settled: SettleItem[] = [];
  /** Rows that move on before they are settled, as often as said. */
  movedOn = 0;
  /** How far each caller may reach, as the blocks were told. */
  readonly reaches: string[] = [];
  /** What the next keys come to; then all are released. */
  readonly outcomes: KeyRelease["outcome"][] = [];
  endSlow: () => void = () => undefined;
  readonly #slow = new Promise<void>((end) => {
    this.endSlow = end;
  });

  readonly call = {
    ports: {
      handleIndex: () => ({
        list: async ({ handle }: { handle: string }) => {
          this.#note("list", handle);
          return { rows: this.#rows(handle) };
        },
        listMany: async ({ handles }: { handles: readonly string[] }) => {
          this.#note("listMany", ...handles);
          return { lists: handles.map((handle) => this.#rows(handle)) };
        },
        settle: async ({ items }: { items: readonly SettleItem[] }) => {
          this.#note("settle", ...items.map(({ handle }) => handle));
          return { changed: this.#settle(items) };
        },
        settleMany: async ({ lots }: { lots: readonly (readonly SettleItem[])[] }) => {
          this.#note("settleMany", ...lots.flat().map(({ handle }) => handle));
          return { changed: lots.map((items) => this.#settle(items)) };
        },
      }),
      block: (block: string) => ({
        releaseHandle: async (request: ReleaseHandleRequest) => {
          this.#note("releaseHandle", request.handle);
          return this.#release(request);
        },
        releaseHandles: async ({ items }: { items: readonly ReleaseHandleRequest[] }) => {
          if (block === SLOW) await this.#slow;
          this.#note("releaseHandles", ...items.map(({ handle }) => handle));
          return { answers: items.map((one) => this.#release(one)) };
        },
      }),
    },
    settings: { ...LOCAL_SETTINGS, aloneMax: 0, skewMs: SKEW_MS },
    principal: { subject: "test", role: "admin", method: "none" },
    now: () => NOW,
    // The limit of a message never passes, however slow the machine is.
    sleep: (ms: number) =>
      ms > SKEW_MS ? new Promise(() => undefined) : new Promise<void>((end) => setTimeout(end, ms)),
  } as unknown as Call;

  release(...handles: string[]) {
    return handles.map((handle) => releaseByHandle(this.call, policy, handle));
  }

  /** The same by the agent of a host. */
  releaseAs(host: string, handle: string) {
    const principal = { ...this.call.principal, role: "agent", host } as const;
    return releaseByHandle({ ...this.call, principal }, policy, handle);
  }

  #note(method: string, ...of: string[]): void {
    this.asked.push([method, ...of].join(" "));
    const failure = this.failures[method];
    if (failure === undefined || failure.times === 0) return;
    failure.times -= 1;
    throw failure.error;
  }

  #rows(handle: string): KeyRow[] {
    const isOver = (block: string) =>
      this.settled.some((one) => one.handle === handle && one.block === block);
    return (this.blocksOf[handle] ?? []).filter((one) => !isOver(one)).map((one) => rowIn(handle, one));
  }

  #settle(items: readonly SettleItem[]): number {
    if (this.movedOn > 0) {
      this.movedOn -= 1;
      return items.length - 1;
    }
    this.settled.push(...items);
    return items.length;
  }

  #release({ block, handle, keys, onlyHost = "all" }: ReleaseHandleRequest) {
    this.reaches.push(`${handle} ${onlyHost}`);
    const address = block.replace(/0\/26$/, "1");
    const record = { address, handle, releasedAt: NOW, sequenceNumber: 1 };
    return {
      keys: keys.map(({ key }) => ({ key, outcome: this.outcomes.shift() ?? "released", records: [record] })),
    };
  }
}

function stageWith(blocksOf: Record<string, string[]>): Stage {
  const stage = new Stage();
  Object.assign(stage.blocksOf, blocksOf);
  return stage;
}

const ONE = "10.0.1.0/26";
const TWO = "10.0.2.0/26";
const done = (address: string) => ({ ok: true, value: [{ address, outcome: "released" }] });

describe("released at the same time", () => {
  it("three handles of two blocks take one look-up, a message to each block, one settlement", async () => {
    const stage = stageWith({ a: [ONE], b: [TWO], c: [ONE] });
    const told = await Promise.all(stage.release("a", "b", "c"));
    expect(told).toMatchObject([done("10.0.1.1"), done("10.0.2.1"), done("10.0.1.1")]);
    expect(stage.asked).toEqual([
      "listMany a b c",
      "releaseHandles a c",
      "releaseHandles b",
      "settleMany a c b",
    ]);
  });

  it("a handle with addresses in two blocks is told of both, once", async () => {
    const stage = stageWith({ a: [ONE, TWO], b: [] });
    const [both, none] = await Promise.all(stage.release("a", "b"));
    expect(both).toMatchObject({ ok: true, value: [{ address: "10.0.1.1" }, { address: "10.0.2.1" }] });
    expect(none).toEqual({ ok: true, value: [] });
  });

  it("a slow block keeps only what is in it", async () => {
    const stage = stageWith({ a: [SLOW], b: [ONE] });
    let isTold = false;
    const [slow, quick] = stage.release("a", "b");
    void slow?.then(() => {
      isTold = true;
    });
    expect(await quick).toMatchObject(done("10.0.1.1"));
    expect(isTold).toBe(false);
    stage.endSlow();
    expect(await slow).toMatchObject(done("10.0.9.1"));
  });

  it("what is not final yet is no settlement, and is asked for again when its time has passed", async () => {
    const stage = stageWith({ a: [ONE], b: [ONE] });
    stage.outcomes.push("not_final", "not_final", "absent", "absent");
    expect(await Promise.all(stage.release("a", "b"))).toMatchObject([{ ok: true }, { ok: true }]);
    expect(stage.asked).toEqual([
      "listMany a b",
      "releaseHandles a b",
      "listMany a b",
      "releaseHandles a b",
      "settleMany a b",
    ]);
  });
});

describe("whoever rides with whom", () => {
  it("each is released within the reach of its own caller, whoever sends the message", async () => {
    const stage = stageWith({ a: [ONE], b: [ONE], c: [ONE] });
    await Promise.all([
      ...stage.release("a"),
      stage.releaseAs("node-1", "b"),
      stage.releaseAs("node-2", "c"),
    ]);
    await Promise.all([stage.releaseAs("node-1", "a"), ...stage.release("b")]);
    expect(stage.asked.filter((one) => one.startsWith("listMany"))).toEqual([
      "listMany a b c",
      "listMany a b",
    ]);
    expect(stage.reaches).toEqual(["a all", "b node-1", "c node-2"]);
  });

  it("what is another host's stays listed, beside what the same message releases for others", async () => {
    const stage = stageWith({ a: [ONE], b: [ONE] });
    stage.outcomes.push("kept", "released");
    await Promise.all([stage.releaseAs("node-1", "a"), ...stage.release("b")]);
    expect(stage.settled.map(({ handle }) => handle)).toEqual(["b"]);
  });

  it("a handle that two release in one message is asked for by both, each as far as it may", async () => {
    const stage = stageWith({ a: [ONE] });
    stage.outcomes.push("kept", "released");
    const [agent, admin] = await Promise.all([stage.releaseAs("node-1", "a"), ...stage.release("a")]);
    expect([agent?.ok, admin?.ok]).toEqual([true, true]);
    expect(stage.reaches).toEqual(["a node-1", "a all"]);
    expect(stage.settled).toHaveLength(1);
  });

  it("a row that has moved on since it was listed is looked up again; the others are done", async () => {
    const stage = stageWith({ a: [ONE], b: [TWO] });
    stage.movedOn = 1;
    expect(await Promise.all(stage.release("a", "b"))).toMatchObject([{ ok: true }, { ok: true }]);
    expect(stage.asked).toEqual([
      "listMany a b",
      "releaseHandles a",
      "releaseHandles b",
      "settleMany a b",
      "listMany a",
      "releaseHandles a",
      "settleMany a",
    ]);
  });

  it("one whose row always moves on is not said to be released", async () => {
    const stage = stageWith({ a: [ONE] });
    stage.movedOn = 9;
    expect(await Promise.all(stage.release("a"))).toMatchObject([
      { ok: false, error: { code: "in_progress" } },
    ]);
  });
});

describe("a message that fails", () => {
  const unreachable = Object.assign(new Error("gone"), { retryable: true });
  const defect = new Error("a defect");

  it.each([
    ["listMany", unreachable, ["list a", "list b"]],
    ["listMany", defect, ["list a", "list b"]],
    ["releaseHandles", defect, ["releaseHandle a", "releaseHandle b"]],
    ["settleMany", unreachable, ["settle a", "settle b"]],
    ["settleMany", defect, ["settle a", "settle b"]],
  ])("%s is repeated for each by itself (%o)", async (method, error, repeats) => {
    const stage = stageWith({ a: [ONE], b: [ONE] });
    stage.failures[method] = { error, times: 1 };
    const told = await Promise.all(stage.release("a", "b"));
    expect(told).toMatchObject([done("10.0.1.1"), done("10.0.1.1")]);
    expect(stage.asked).toEqual(expect.arrayContaining(repeats));
  });

  it("releaseHandles is not repeated where it may have been done: each is told so, and nothing is settled", async () => {
    const stage = stageWith({ a: [ONE], b: [ONE], c: [TWO] });
    stage.failures.releaseHandles = { error: unreachable, times: 1 };
    const told = await Promise.allSettled(stage.release("a", "b", "c"));
    expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(told[0]).toMatchObject({ reason: unreachable });
    expect(stage.settled.map(({ handle }) => handle)).toEqual(["c"]);
  });

  it("a settlement that fails again by itself fails its own request only", async () => {
    const stage = stageWith({ a: [ONE], b: [ONE] });
    stage.failures.settleMany = { error: unreachable, times: 1 };
    stage.failures.settle = { error: unreachable, times: 1 };
    const told = await Promise.allSettled(stage.release("a", "b"));
    expect(told.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });
});
