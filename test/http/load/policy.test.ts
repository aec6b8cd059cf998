/**
 * Policy written while 64 clients allocate and release: what begins after the write's answer obeys it,
 * also when the service is killed soon after. Only requests sent after the answer count: no clock is compared.
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Allocate, Release } from "../../support/history.ts";
import { type AnswerBody, HttpClient } from "../../support/http-client.ts";
import { type Service, startService } from "../../support/service.ts";
import { pause, Recorder } from "./recorder.ts";

const clients = 64;
const hosts = ["node-a", "node-b", "node-c", "node-d"];
/** How long the load runs before a write, after the restart, and from the write's answer to the kill. */
const phaseMs = 1_500;
const killAfterMs = 700;
/** Allocations before the write; a slow machine takes longer for them, to a bound. */
const grantedMin = 200;
/** All bounds together, and starting twice. */
vi.setConfig({ testTimeout: 150_000 });
/** A block that is no longer full tells its directory at once; this is how long that may take. */
const hintMs = 300;

let service: Service;
let client: HttpClient;
let recorder: Recorder;

beforeEach(async () => {
  service = await startService();
  client = new HttpClient(() => service.url, clients + 1);
  recorder = new Recorder(client);
  for (const host of hosts) await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
});

afterEach(async () => {
  client.close();
  await service.stop();
});

function now(): number {
  return performance.timeOrigin + performance.now();
}

interface Written {
  /** When the answer of the write was there. */
  readonly at: number;
  readonly answer: AnswerBody;
}

/** Ends the service as a power cut would, and starts it on the same data. */
async function killAndRestart(): Promise<void> {
  const { pid } = service;
  await service.kill();
  await service.restart();
  expect(service.pid).not.toBe(pid);
}

/** Clients allocate and release, one address each; in the middle the policy is written, then the service killed. */
async function writeUnderLoad(method: string, path: string, body: object): Promise<Written> {
  let isOver = false;
  const run = async (_: unknown, number: number): Promise<void> => {
    const host = hosts[number % hosts.length]!;
    for (let count = 0; !isOver; count += 1) {
      const handle = `client-${number}.${count}`;
      const { outcome } = await recorder.allocateSurely({ host, handle, key: `${handle}-key` });
      if (outcome === "ok") await recorder.release({ handle });
      else await pause(20);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  await pause(phaseMs);
  for (let left = 100; left > 0 && granted(allocates()).length < grantedMin; left -= 1) await pause(100);
  const answer = await client.must(method, path, body);
  const at = now();
  await pause(killAfterMs);
  await killAndRestart();
  const restartedAt = now();
  const isServed = (): boolean => granted(allocates()).some(({ invokedAt }) => invokedAt > restartedAt);
  await pause(phaseMs);
  for (let left = 300; left > 0 && !isServed(); left -= 1) await pause(100);
  isOver = true;
  await running;
  const cutOff = allocates().filter(({ outcome }) => outcome === "unknown");
  expect(cutOff.length).toBeGreaterThan(0);
  expect(isServed()).toBe(true);
  return { at, answer };
}

function allocates(): Allocate[] {
  return recorder.history.filter((operation) => operation.kind === "allocate");
}

function granted(operations: readonly Allocate[]): Allocate[] {
  return operations.filter(({ outcome }) => outcome === "ok");
}

/** Allocations whose requests were sent before, and after, the answer of the write. */
function around({ at }: Written): { readonly before: Allocate[]; readonly after: Allocate[] } {
  const all = allocates();
  return {
    before: all.filter(({ invokedAt }) => invokedAt <= at),
    after: all.filter(({ invokedAt }) => invokedAt > at),
  };
}

function isIn(prefix: string, first: number, last: number) {
  return ({ got }: Allocate): boolean =>
    got.some(({ address }) => {
      const end = Number(address.slice(prefix.length));
      return address.startsWith(prefix) && first <= end && end <= last;
    });
}

it("I7: after a reservation's answer no address in it is allocated", async () => {
  await client.must("PUT", "/v1/pools/shared", { cidr: "10.6.0.0/25", blockSize: 27 });
  // Half of each block.
  const reservedCIDRs = ["10.6.0.0/28", "10.6.0.32/28", "10.6.0.64/28", "10.6.0.96/28"];
  const isReserved = (operation: Allocate): boolean =>
    [0, 32, 64, 96].some((first) => isIn("10.6.0.", first, first + 15)(operation));
  const written = await writeUnderLoad("PUT", "/v1/reservations/half", { reservedCIDRs });
  const { before, after } = around(written);
  expect(granted(before).filter(isReserved).length).toBeGreaterThan(0);
  expect(granted(after).length).toBeGreaterThan(0);
  expect(
    granted(after)
      .filter(isReserved)
      .map(({ got }) => got),
  ).toEqual([]);
});

it("I7: after a pool is disabled nothing is allocated from it", async () => {
  await client.must("PUT", "/v1/pools/first", { cidr: "10.7.0.0/25", blockSize: 27 });
  await client.must("PUT", "/v1/pools/second", { cidr: "10.7.1.0/25", blockSize: 27 });
  const fromFirst = isIn("10.7.0.", 0, 255);
  const written = await writeUnderLoad("PATCH", "/v1/pools/first", { disabled: true });
  const { before, after } = around(written);
  expect(granted(before).filter(fromFirst).length).toBeGreaterThan(0);
  expect(granted(after).length).toBeGreaterThan(0);
  expect(
    granted(after)
      .filter(fromFirst)
      .map(({ got }) => got),
  ).toEqual([]);
});

it("I8: after strict affinity's answer no host gets an address outside its own blocks", async () => {
  // Two blocks for four hosts; a held address in each keeps its owner.
  await client.must("PUT", "/v1/pools/scarce", { cidr: "10.8.0.0/25", blockSize: 26 });
  const owners = new Map<string, string>();
  for (const host of hosts.slice(0, 2)) {
    const body = { host, handle: `keep.${host}`, ipv4: { count: 1 } };
    const { allocations = [] } = await client.must("POST", "/v1/allocations", body);
    owners.set(allocations[0]!.block, host);
  }
  expect(owners.size).toBe(2);
  const isOutside = ({ host, got }: Allocate): boolean => got.some(({ block }) => owners.get(block) !== host);
  const written = await writeUnderLoad("PATCH", "/v1/config", { strictAffinity: true });
  const { before, after } = around(written);
  expect(granted(before).filter(isOutside).length).toBeGreaterThan(0);
  expect(granted(after).length).toBeGreaterThan(0);
  expect(
    granted(after)
      .filter(isOutside)
      .map(({ got }) => got),
  ).toEqual([]);
  // Once the borrowers have given everything back, others have room: that is why they are refused.
  const isBorrower = (host: string): boolean => !hosts.slice(0, 2).includes(host);
  const borrowed = new Set(
    granted(before)
      .filter(({ host }) => isBorrower(host))
      .map(({ handle }) => handle),
  );
  const ends = recorder.history.filter(
    ({ kind, handle }) => kind === "release" && borrowed.has(handle ?? ""),
  );
  const hintsKnownAt = Math.max(...ends.map(({ answeredAt }) => answeredAt)) + hintMs;
  const refused = after
    .filter(({ outcome }) => outcome === "refused")
    .filter(({ host, invokedAt }) => isBorrower(host) && invokedAt > hintsKnownAt);
  expect(refused.length).toBeGreaterThan(0);
  expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(["strict_affinity"]));
});

it("I12: after a longer cooldown's answer no address is allocated before it has passed", async () => {
  // Longer than a release and the next allocation take on a slow machine, each behind 64 others.
  const cooldownMs = 5_000;
  await client.must("PUT", "/v1/pools/quick", { cidr: "10.9.0.0/27", blockSize: 28 });
  const written = await writeUnderLoad("PATCH", "/v1/config", { ipCooldownSeconds: cooldownMs / 1000 });
  const { before, after } = around(written);
  const endedAt = new Map<string, number[]>();
  const ends = recorder.history.filter((operation): operation is Release => operation.kind === "release");
  for (const { invokedAt, results } of ends) {
    for (const { address } of results) endedAt.set(address, [...(endedAt.get(address) ?? []), invokedAt]);
  }
  /** Time since the last release that was sent before the address was got again. */
  const pauseBefore = ({ invokedAt, answeredAt, got }: Allocate): number => {
    const earlier = (endedAt.get(got[0]!.address) ?? []).filter((at) => at < invokedAt);
    return answeredAt - Math.max(...earlier);
  };
  const early = (operations: readonly Allocate[]): number[] =>
    granted(operations)
      .map(pauseBefore)
      .filter((ms) => ms < cooldownMs - 2);
  expect(early(before).length).toBeGreaterThan(0);
  expect(granted(after).length).toBeGreaterThan(0);
  expect(early(after)).toEqual([]);
});

it("I10, I8: strict affinity with a cap: 64 clients on four hosts claim no block too many", async () => {
  await client.must("PUT", "/v1/pools/wide", { cidr: "10.10.0.0/22", blockSize: 29 });
  await client.must("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 3 });
  const take = async (_: unknown, number: number): Promise<void> => {
    for (let count = 0; count < 4; count += 1) {
      const handle = `capped-${number}.${count}`;
      const host = hosts[number % hosts.length]!;
      await recorder.allocateSurely({ host, handle, key: `${handle}-key` }, 80);
    }
  };
  const kill = async (): Promise<void> => {
    while (granted(allocates()).length < hosts.length * 4) await pause(5);
    await killAndRestart();
  };
  await Promise.all([...Array.from({ length: clients }, take), kill()]);
  const held = granted(allocates());
  // Three blocks of eight addresses each, all of them used, and nothing beyond.
  expect(new Set(held.flatMap(({ got }) => got.map(({ address }) => address))).size).toBe(
    hosts.length * 3 * 8,
  );
  const refusals = allocates().filter(({ outcome }) => outcome === "refused");
  expect(new Set(refusals.map(({ code }) => code))).toEqual(new Set(["block_limit_reached"]));
  for (const host of hosts) {
    const blocks = new Set(held.filter((one) => one.host === host).flatMap(({ got }) => got[0]!.block));
    expect(blocks.size).toBe(3);
    const view = (await client.must("GET", `/v1/hosts/${host}`)) as { ipv4?: { owned: number } };
    expect(view.ipv4?.owned).toBe(3);
  }
});
