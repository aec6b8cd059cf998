/** Requests of one host that arrive together: which go in one message, and what each of them is answered. */
import { describe, expect, it } from "vitest";
import { LOCAL_SETTINGS } from "../../src/core/settings.ts";
import { allocateAt } from "../../src/http/writing/allocating-at.ts";
import type { HostAllocateOutcome, HostAllocateRequest, TogetherOutcome } from "../../src/rpc/host.ts";
import type { Ports } from "../../src/rpc/ports.ts";

const request = (handle: string, host = "node-1"): HostAllocateRequest => ({
  host,
  handle,
  key: handle,
  fingerprint: "",
  use: "Workload",
  attributes: {},
  partial: false,
  leakCollection: "auto",
});

const answerFor = (handle: string): HostAllocateOutcome => {
  return { ok: false, error: { code: "handle_limit_reached", evidence: { handle } } } as never;
};
const handleOf = (outcome: HostAllocateOutcome): string => {
  return outcome.ok ? "" : (outcome.error.evidence as unknown as { handle: string }).handle;
};

/** After so long whoever has not been answered was cut off. */
const CUT_OFF_MS = 2 * (LOCAL_SETTINGS.untilMs + LOCAL_SETTINGS.skewMs) + 1;

/** A Host that answers when it is told to, a clock that stands unless it is moved, limits that never pass. */
class Stage {
  readonly alone: string[] = [];
  readonly messages: string[][] = [];
  readonly fetched: string[] = [];
  readonly kept: Promise<unknown>[] = [];
  now = 1_000;
  /** Turns of the event loop that never come: whoever waits for one was cut off; limits pass at once then. */
  isCutOff = false;
  together: (handles: readonly string[]) => Promise<TogetherOutcome[]> = async (handles) =>
    handles.map((handle) => ({ kind: "done", outcome: answerFor(handle) }));
  later: (ticket: string) => TogetherOutcome | undefined = () => undefined;
  #release: () => void = () => undefined;
  /** The first requests, which go alone, are under way until then. */
  readonly #released = new Promise<void>((settle) => {
    this.#release = settle;
  });

  readonly call = {
    ports: {
      host: () => ({
        allocate: async ({ handle }: HostAllocateRequest) => {
          this.alone.push(handle);
          await this.#released;
          return answerFor(handle);
        },
        allocateTogether: async ({ items }: { items: readonly HostAllocateRequest[] }) => {
          const handles = items.map(({ handle }) => handle);
          this.messages.push(handles);
          return { outcomes: await this.together(handles) };
        },
        allocated: async ({ ticket }: { ticket: string }) => {
          this.fetched.push(ticket);
          return this.later(ticket);
        },
      }),
    } as unknown as Ports,
    settings: LOCAL_SETTINGS,
    now: () => this.now,
    sleep: (ms: number): Promise<void> => {
      const isOver = ms === 0 ? !this.isCutOff : this.isCutOff;
      return isOver ? new Promise((end) => setTimeout(end)) : new Promise(() => undefined);
    },
    keep: (pending: Promise<unknown>) => {
      this.kept.push(pending);
    },
  };

  release(): void {
    this.#release();
  }

  /** Begins as many as go by themselves. */
  makeBusy(): void {
    void Promise.all(this.ask(...names(4)));
  }

  ask(...handles: string[]): Promise<HostAllocateOutcome>[] {
    return handles.map((handle) => allocateAt(request(handle), this.call));
  }
}

const names = (count: number, from = 0) => Array.from({ length: count }, (_, number) => `h${from + number}`);

describe("which go together", () => {
  it("four at once go by themselves, and what comes then goes in one message", async () => {
    const stage = new Stage();
    const first = stage.ask(...names(4));
    const rest = await Promise.all(stage.ask(...names(10, 4)));
    expect(stage.alone).toEqual(names(4));
    expect(stage.messages).toEqual([names(10, 4)]);
    expect(rest.map(handleOf)).toEqual(names(10, 4));
    stage.release();
    expect((await Promise.all(first)).map(handleOf)).toEqual(names(4));
  });

  it("while its object was busy lately, the first waits for the others too; then each goes by itself", async () => {
    const stage = new Stage();
    stage.release();
    await Promise.all(stage.ask(...names(20)));
    stage.alone.length = 0;
    stage.messages.length = 0;
    stage.now += 50;
    await Promise.all(stage.ask("a", "b"));
    expect([stage.alone, stage.messages]).toEqual([[], [["a", "b"]]]);
    stage.now += 51;
    await Promise.all(stage.ask("c", "d"));
    expect(stage.alone).toEqual(["c", "d"]);
  });

  it("a message has 128 requests at most; the others go at the same time", async () => {
    const stage = new Stage();
    stage.makeBusy();
    const answers = await Promise.all(stage.ask(...names(300, 4)));
    expect(stage.messages.map(({ length }) => length)).toEqual([128, 128, 44]);
    expect(answers.map(handleOf)).toEqual(names(300, 4));
  });

  it("requests of another host go to that one", async () => {
    const stage = new Stage();
    stage.makeBusy();
    void allocateAt(request("other", "node-2"), stage.call);
    expect(stage.alone).toEqual([...names(4), "other"]);
  });

  it("whoever gathers is kept until its message was answered", async () => {
    const stage = new Stage();
    stage.makeBusy();
    await Promise.all(stage.ask("a", "b"));
    expect(stage.kept).toHaveLength(1);
  });
});

describe("what each is answered", () => {
  it("one that takes longer is asked for by its ticket; the others do not wait for it", async () => {
    const stage = new Stage();
    stage.together = async ([slow, ...others]) => [
      { kind: "under_way", ticket: `ticket of ${slow}` },
      ...others.map((handle) => ({ kind: "done" as const, outcome: answerFor(handle) })),
    ];
    stage.later = (ticket) => ({ kind: "done", outcome: answerFor(ticket) });
    stage.makeBusy();
    const [slow, ...others] = await Promise.all(stage.ask("slow", "a", "b"));
    expect(others.map(handleOf)).toEqual(["a", "b"]);
    expect(handleOf(slow as HostAllocateOutcome)).toBe("ticket of slow");
    expect(stage.fetched).toEqual(["ticket of slow"]);
  });

  it("one whose Host has ended since has an outcome that is not known", async () => {
    const stage = new Stage();
    stage.together = async () => [{ kind: "under_way", ticket: "lost" }];
    stage.makeBusy();
    const [answer] = await Promise.all(stage.ask("slow"));
    expect(answer).toMatchObject({ ok: false, error: { code: "outcome_unknown", retryAfterSeconds: 1 } });
  });

  it("a defect of one is its own", async () => {
    const stage = new Stage();
    stage.together = async ([, ...others]) => [
      { kind: "failed", name: "InvariantViolation", message: "broken", stack: "at the place" },
      ...others.map((handle) => ({ kind: "done" as const, outcome: answerFor(handle) })),
    ];
    stage.makeBusy();
    const [broken, sound] = await Promise.allSettled(stage.ask("broken", "sound"));
    expect(broken).toMatchObject({
      status: "rejected",
      reason: { name: "InvariantViolation", message: "broken", stack: "at the place" },
    });
    expect(sound?.status).toBe("fulfilled");
  });

  it("a message that fails fails each of its requests, with what it failed with", async () => {
    const stage = new Stage();
    const failure = Object.assign(new Error("away"), { retryable: true });
    stage.together = async () => Promise.reject(failure);
    stage.makeBusy();
    const all = await Promise.allSettled(stage.ask("a", "b"));
    expect(all.map((one) => one.status === "rejected" && one.reason === failure)).toEqual([true, true]);
  });

  it("a request that is left unanswered fails, and its neighbours are answered", async () => {
    const stage = new Stage();
    stage.together = async ([first = ""]) => [{ kind: "done", outcome: answerFor(first) }];
    stage.makeBusy();
    const [told, untold] = await Promise.allSettled(stage.ask("told", "untold"));
    expect(told?.status).toBe("fulfilled");
    expect(untold).toMatchObject({ status: "rejected" });
  });
});

describe("whoever gathers is cut off", () => {
  it("who waits for it is told that the outcome is not known; who comes later gathers anew", async () => {
    const stage = new Stage();
    stage.makeBusy();
    stage.isCutOff = true;
    const [waiting] = await Promise.allSettled(stage.ask("waits"));
    // As the platform marks a call whose answer was lost.
    expect(waiting).toMatchObject({ status: "rejected", reason: { retryable: true } });
    stage.isCutOff = false;
    stage.now += CUT_OFF_MS;
    stage.makeBusy();
    const [later] = await Promise.all(stage.ask("later"));
    expect(handleOf(later as HostAllocateOutcome)).toBe("later");
    // What somebody has been told of as lost never leaves later.
    expect(stage.messages).toEqual([["later"]]);
  });

  it("requests whose events were cut off do not count for ever", () => {
    const stage = new Stage();
    stage.makeBusy();
    stage.now += CUT_OFF_MS;
    void Promise.all(stage.ask("alone-again"));
    expect(stage.alone).toEqual([...names(4), "alone-again"]);
  });
});
