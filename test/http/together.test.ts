/**
 * Many requests of one host at the same time on the real runtime: they share calls of the Host, and none
 * depends on the client of another. Faults are set in the entry of the tests.
 */
import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { counters, setFaults, untilFaulty, untilQuiet } from "../support/control.ts";
import { HttpClient } from "../support/http-client.ts";
import { type Service, startService } from "../support/service.ts";

/** As many as go to a Host by themselves. */
const ALONE = 4;
/** Long, so that calls that stand until a test has done its part are waited for. */
const settings = { untilMs: 20_000 };

let service: Service;
let client: HttpClient;
let last = 0;

beforeAll(async () => {
  service = await startService({
    entry: "test/support/entry.ts",
    vars: { TEST_SETTINGS: JSON.stringify(settings) },
  });
  client = new HttpClient(() => service.url, 128);
  await client.must("PUT", "/v1/pools/wide", { cidr: "10.8.0.0/16", blockSize: 20 });
});

afterAll(async () => {
  client.close();
  await service.stop();
});

let host: string;

beforeEach(async () => {
  last += 1;
  host = `node-${last}`;
  await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
  await allocate("first");
});

const body = (handle: string) => ({ host, handle: `${host}.${handle}`, ipv4: { count: 1 } });

function allocate(handle: string) {
  const key = { "Idempotency-Key": `key-of-${host}-${handle}` };
  return client.send("POST", "/v1/allocations", body(handle), key);
}

const names = (count: number, of = "many") => Array.from({ length: count }, (_, number) => `${of}-${number}`);

/** Sends a request and never waits for its answer; returns how its client goes. */
async function send(method: string, path: string, text = ""): Promise<() => void> {
  const headers = { "Content-Type": "application/json" };
  const sent = request(`${service.url}${path}`, { method, headers, agent: false });
  sent.on("error", () => undefined);
  await new Promise<void>((done) => sent.end(text, done));
  return () => sent.destroy();
}

/** The service learns soon that a client has gone; if it has not yet, less is shown, and nothing fails. */
const noticed = () => new Promise((settle) => setTimeout(settle, 300));

const sendAllocate = (handle: string) => send("POST", "/v1/allocations", JSON.stringify(body(handle)));
const sendRelease = (handle: string) => send("DELETE", `/v1/handles/${host}.${handle}`);

/** What arrives while the process stands is taken in within one turn. */
async function inOneTurn<T>(arrive: () => Promise<T>): Promise<T> {
  process.kill(service.pid, "SIGSTOP");
  try {
    const arrived = await arrive();
    await new Promise((settle) => setTimeout(settle, 200));
    return arrived;
  } finally {
    process.kill(service.pid, "SIGCONT");
  }
}

/** Does something for each name at once, as the service sees it; not waited for. */
async function atOnce<T>(some: readonly string[], ask: (name: string) => Promise<T>): Promise<T[]> {
  const { asked } = await inOneTurn(async () => ({ asked: some.map(ask) }));
  return await Promise.all(asked);
}

/** The addresses that a handle holds. */
async function held(handle: string): Promise<string[]> {
  const items = await client.all<{ address: string }>(`/v1/allocations?handle=${host}.${handle}`);
  return items.map(({ address }) => address);
}

it("I1: 96 requests at once take few calls of the Host, and each has an address of its own", async () => {
  const before = await counters(client);
  const answers = await atOnce(names(96), allocate);
  const after = await counters(client);
  expect(answers.map(({ status }) => status)).toEqual(names(96).map(() => 201));
  const told = answers.flatMap(({ body: { allocations = [] } }) => allocations.map(({ address }) => address));
  expect(new Set(told).size).toBe(96);
  const calls = (method: string) => (after.calls[method] ?? 0) - (before.calls[method] ?? 0);
  expect(calls("host.allocateTogether")).toBeGreaterThan(0);
  expect(calls("host.allocate") + calls("host.allocateTogether") + calls("host.allocated")).toBeLessThan(48);
});

it("I4: 96 releases of handles at once take few calls and commits; each is told of its own address", async () => {
  const given = await Promise.all(names(96).map(allocate));
  const told = given.flatMap(({ body: { allocations = [] } }) => allocations.map(({ address }) => address));
  await untilQuiet(client);
  const before = await counters(client);
  const release = (name: string) => client.send("DELETE", `/v1/handles/${host}.${name}`);
  const released = await atOnce(names(96), release);
  const after = await counters(client);
  expect(released.map(({ status }) => status)).toEqual(names(96).map(() => 200));
  const freed = released.map(({ body: { results = [] } }) =>
    results.map(({ address, outcome }) => [address, outcome]),
  );
  expect(freed).toEqual(told.map((address) => [[address, "released"]]));
  const since = (what: "calls" | "commits" | "rowsWritten", name: string) =>
    (after[what][name] ?? 0) - (before[what][name] ?? 0);
  for (const method of ["handleIndex.listMany", "block.releaseHandles", "handleIndex.settleMany"])
    expect(since("calls", method)).toBeGreaterThan(0);
  expect(since("commits", "handleIndex") + since("commits", "block")).toBeLessThan(96);
  expect(since("rowsWritten", "handleIndex") + since("rowsWritten", "block")).toBe(192);
  for (const name of names(96)) expect(await held(name)).toEqual([]);
  const again = await Promise.all(names(96).map(release));
  expect(again.map(({ status, body: { results } }) => [status, results])).toEqual(
    names(96).map(() => [200, []]),
  );
});

it("I4: a message of releases that fails, before or after it is done, is repeated, or told as not known", async () => {
  for (const fails of ["before", "after"] as const) {
    for (const method of ["handleIndex.listMany", "block.releaseHandles", "handleIndex.settleMany"]) {
      const all = names(24, `${fails}-${method.replace(".", "-")}`);
      const release = (name: string) => client.send("DELETE", `/v1/handles/${host}.${name}`);
      await Promise.all(all.map(allocate));
      await setFaults(client, [{ method, fails }]);
      const released = await atOnce(all, release);
      expect(await setFaults(client, [])).toBe(0);
      // One that was alone in its message is told so, as ever; and all of a block, which would not say again
      // what it has freed.
      const failed = all.filter((_, index) => released[index]?.status !== 200);
      if (method !== "block.releaseHandles") expect(failed.length).toBeLessThanOrEqual(1);
      for (const { status, body: told } of released)
        if (status !== 200) expect(told).toMatchObject({ code: "outcome_unknown", retry: "same_request" });
      for (const name of failed) expect((await release(name)).status).toBe(200);
      for (const name of all) expect(await held(name)).toEqual([]);
    }
  }
}, 60_000);

it("whoever sends for others breaks off: the others are answered", async () => {
  // Four go by themselves and stand; the next gathers, and goes while its message stands.
  await setFaults(client, [
    { method: "host.allocate", stands: "before", times: ALONE },
    { method: "host.allocateTogether", stands: "before", times: 9 },
  ]);
  const alone = names(ALONE, "alone").map(allocate);
  await untilFaulty(client, ALONE);
  const leave: (() => void)[] = [];
  const told: ReturnType<typeof allocate>[] = [];
  await inOneTurn(async () => {
    for (const name of ["gatherer", "other-1", "other-2"]) leave.push(await sendAllocate(name));
    told.push(allocate("told-1"), allocate("told-2"));
  });
  await untilFaulty(client, ALONE + 1);
  for (const go of leave) go();
  await noticed();
  await setFaults(client, []);
  expect((await Promise.all(told)).map(({ status }) => status)).toEqual([201, 201]);
  expect((await Promise.all(alone)).map(({ status }) => status)).toEqual(names(ALONE).map(() => 201));
  await untilQuiet(client);
  expect(await held("gatherer")).toHaveLength(1);
});

it("I4: whoever sends releases for others breaks off: the others are told of their own, and all are released", async () => {
  const [alone, left, told] = [names(ALONE, "alone"), names(4, "left"), names(4, "told")];
  const given = await Promise.all([...alone, ...left, ...told].map(allocate));
  const addressOf = new Map(
    given.map(({ body: { allocations } }) => [allocations?.[0]?.handle, allocations?.[0]?.address]),
  );
  await untilQuiet(client);
  const release = (name: string) => client.send("DELETE", `/v1/handles/${host}.${name}`);
  // Four go by themselves and stand; the look-up of the message stands, and what it leads to.
  const slow = [
    { method: "block.releaseHandles", heldMs: 300, times: 9 },
    { method: "handleIndex.settleMany", heldMs: 300, times: 9 },
  ];
  await setFaults(client, [
    { method: "handleIndex.list", stands: "before", times: ALONE },
    { method: "handleIndex.listMany", stands: "before", times: 9 },
    ...slow,
  ]);
  const first = alone.map(release);
  await untilFaulty(client, ALONE);
  const leave: (() => void)[] = [];
  const answers: ReturnType<typeof release>[] = [];
  await inOneTurn(async () => {
    for (const name of left) leave.push(await sendRelease(name));
    answers.push(...told.map(release));
  });
  await untilFaulty(client, ALONE + 1);
  for (const go of leave) go();
  await noticed();
  await setFaults(client, slow);
  for (const [place, { status, body: said }] of (await Promise.all(answers)).entries()) {
    expect(status).toBe(200);
    const address = addressOf.get(`${host}.${told[place]}`);
    expect(said.results?.map((one) => one.address)).toEqual([address]);
  }
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual(alone.map(() => 200));
  await setFaults(client, []);
  await untilQuiet(client);
  for (const name of [...alone, ...left, ...told]) expect(await held(name)).toEqual([]);
});

it("I13: the Host ends with a message under way: each outcome is not known, each key gives one address", async () => {
  await setFaults(client, [{ method: "block.allocate", stands: "after" }]);
  const answers = names(24).map(allocate);
  await untilFaulty(client);
  // It ends before it answers.
  await client.send("POST", "/test/call", { kind: "host", name: [host], method: "endNow", request: {} });
  const ended = await Promise.all(answers);
  await setFaults(client, []);
  expect(ended.map(({ status }) => status).filter((status) => status !== 201)).not.toEqual([]);
  for (const { status, body: told } of ended) if (status !== 201) expect(told.retry).toBe("same_request");
  await new Promise((settle) => setTimeout(settle, 3_000));
  const again = await Promise.all(names(24).map(allocate));
  expect(again.map(({ status }) => status)).toEqual(names(24).map(() => 201));
  const told = again.flatMap(({ body: { allocations = [] } }) => allocations.map(({ address }) => address));
  expect(new Set(told).size).toBe(24);
  for (const [index, handle] of names(24).entries()) expect(await held(handle)).toEqual([told[index]]);
});
