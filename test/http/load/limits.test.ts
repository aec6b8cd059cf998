/**
 * I9 over HTTP: 64 clients on eight hosts allocate for one handle and release again, while the service
 * is killed and started in their midst. The handle holds as many as its limit, and never one more.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Allocate, Operation, Release, Tenure } from "../../support/history.ts";
import { HttpClient } from "../../support/http-client.ts";
import { type Service, startService } from "../../support/service.ts";
import { mostHeldAtOnce } from "./held-at-once.ts";
import { pause, Recorder, tenureOf } from "./recorder.ts";

const clients = 64;
const hosts = Array.from({ length: 8 }, (_, number) => `node-${number}`);
const handle = "shared.vm";
/** Answers before the kill, and after it; a slow machine takes longer for them, to a bound. */
const answersMin = 150;
const killWithinMs = 12_000;
const loadWithinMs = 30_000;
/** Until a message that left before the end can no longer arrive: 2 s and the clocks' difference. */
const settleMs = 2_200;
/** One of so many answers is followed by the release of what it told; else others would find nothing to get. */
const RELEASES = 6;

let dataDir: string;
let service: Service;
let client: HttpClient;
let recorder: Recorder;
let requests = 0;

/** One address of each family for the handle; at its limit it is told what is there. */
function take(host: string, limit: number): Promise<Allocate> {
  requests += 1;
  const more = { maxPerHandle: limit, ipv6: { count: 1 } };
  return recorder.allocateSurely({ host, handle, key: `limited-${requests}`, more }, 80);
}

/** By address, which leaves the key's row to be judged; now and then everything at once. */
async function giveBack(number: number, count: number, told: readonly Tenure[]): Promise<void> {
  if (number === 0 && count % 4 === 0) {
    await recorder.release({ handle });
    return;
  }
  for (const { address, sequenceNumber } of told) await recorder.release({ address, sequenceNumber });
}

/** Runs until the service has answered enough, been killed, and answered enough again. */
async function load(limit: number): Promise<void> {
  const beganAt = performance.now();
  let isOver = false;
  const run = async (_: unknown, number: number): Promise<void> => {
    for (let count = 0; !isOver; count += 1) {
      const { outcome, got } = await take(hosts[(number + count) % hosts.length] ?? "", limit);
      if (outcome === "ok" && (number + count) % RELEASES === 0) await giveBack(number, count, got);
    }
  };
  const enough = async (answers: number, withinMs: number): Promise<void> => {
    const isEnough = (): boolean => (recorder.seen.get("allocate ok") ?? 0) >= answers;
    while (!isEnough() && performance.now() - beganAt < withinMs) await pause(50);
  };
  const kill = async (): Promise<void> => {
    await enough(answersMin, killWithinMs);
    await service.kill();
    await service.restart();
    await enough((recorder.seen.get("allocate ok") ?? 0) + answersMin, loadWithinMs);
    isOver = true;
  };
  await Promise.all([...Array.from({ length: clients }, run), kill()]);
}

function answersBetween(from: number, to: number): Allocate[] {
  return recorder.history.filter(
    (one): one is Allocate =>
      one.kind === "allocate" && one.outcome === "ok" && one.answeredAt >= from && one.answeredAt < to,
  );
}

async function held(): Promise<Tenure[]> {
  const { items = [] } = await client.must("GET", `/v1/handles/${handle}`);
  return (items as { state: string }[]).filter(({ state }) => state === "allocated").map(tenureOf);
}

describe("I9: one handle under load, over a SIGKILL", () => {
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "edge-ipam-limits-"));
    service = await startService({ dataDir });
    client = new HttpClient(() => service.url, clients);
    recorder = new Recorder(client);
    // Eight hosts for four blocks of a family: some own one, others borrow.
    await client.must("PUT", "/v1/pools/four", { cidr: "10.12.0.0/26", blockSize: 28 });
    await client.must("PUT", "/v1/pools/six", { cidr: "fd00:12::/122", blockSize: 124 });
    for (const host of hosts) await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
  });

  afterEach(async () => {
    client.close();
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it.each([1, 4])(
    "holds at most %i of each family, and as many",
    async (limit) => {
      const { pid } = service;
      await load(limit);
      const counts = [...recorder.seen].toSorted().map(([what, count]) => `${what} ${count}`);
      console.log(`limit ${limit}: ${recorder.history.length} requests; ${counts.join(", ")}`);
      expect(service.pid).not.toBe(pid);
      for (const family of [4, 6] as const) {
        expect(mostHeldAtOnce(recorder.history, family)).toEqual(new Map([[handle, limit]]));
      }
      // What nobody was told of counts as well.
      await pause(settleMs);
      const left = await held();
      for (const family of [4, 6]) {
        const ofFamily = left.filter(({ address }) => address.includes(":") === (family === 6));
        expect(ofFamily.length).toBeLessThanOrEqual(limit);
      }
      // The kill met requests under way, and the service went on to serve before it and after it.
      const lost = recorder.history.filter(
        ({ kind, outcome }) => kind === "allocate" && outcome === "unknown",
      );
      expect(lost.length).toBeGreaterThan(0);
      const lastLost = Math.max(...lost.map(({ invokedAt }) => invokedAt));
      expect(answersBetween(0, lastLost).length).toBeGreaterThan(0);
      expect(answersBetween(lastLost, Number.POSITIVE_INFINITY).length).toBeGreaterThan(0);
      // After that there is room again up to the limit, and none beyond.
      for (let more = 0; more <= limit; more += 1) await take("node-0", limit);
      expect((await held()).length).toBe(2 * limit);
    },
    90_000,
  );
});

describe("what a handle surely held at once", () => {
  const tenure = (sequenceNumber: number, address = `10.0.0.${sequenceNumber}`): Tenure => {
    return { address, block: "10.0.0.0/28", handle: "vm", sequenceNumber, allocatedAt: 0 };
  };
  const got = (one: Tenure, at: number): Allocate => {
    const request = { host: "n", handle: "vm", key: `key-${at}`, body: "{}" };
    return { kind: "allocate", outcome: "ok", invokedAt: at - 5, answeredAt: at, ...request, got: [one] };
  };
  const gone = ({ address, sequenceNumber }: Tenure, at: number, isKnown = true): Release => {
    const results = isKnown ? [{ address, sequenceNumber, outcome: "released" }] : [];
    const outcome = isKnown ? "ok" : "unknown";
    return { kind: "release", outcome, invokedAt: at, answeredAt: at + 5, address, sequenceNumber, results };
  };
  const most = (...history: Operation[]) => mostHeldAtOnce(history, 4).get("vm");

  it("counts what overlaps: this finds a limit that is passed", () => {
    expect(most(got(tenure(1), 10), got(tenure(2), 20), gone(tenure(1), 30))).toBe(2);
    expect(most(got(tenure(1), 10), got(tenure(2), 20), got(tenure(3), 30))).toBe(3);
  });

  it("counts one after the other as one, and the same told twice as one", () => {
    expect(most(got(tenure(1), 10), gone(tenure(1), 15), got(tenure(2), 20))).toBe(1);
    expect(most(got(tenure(1), 10), got(tenure(1), 20))).toBe(1);
  });

  it("does not count what may have ended, nor the other family", () => {
    expect(most(got(tenure(1), 10), gone(tenure(1), 15, false), got(tenure(2), 20))).toBe(1);
    expect(most(got(tenure(1), 10), got(tenure(2, "fd00::2"), 20))).toBe(1);
  });
});
