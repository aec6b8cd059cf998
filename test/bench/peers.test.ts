/**
 * The peers of the benchmark promise what they are compared in: no address twice, and nothing lost.
 * May import: bench/peers. A database that is not installed is named in the test that is skipped for it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadPeer } from "../../bench/peers/load.ts";
import {
  type Allocator,
  connectPeer,
  etcdIsInstalled,
  faultsOf,
  type Held,
  type Peer,
  postgresIsInstalled,
  startEtcd,
  startPostgres,
} from "../../bench/peers/peer.ts";

const CLIENTS = 16;
/** Together 240, so that each of two hosts needs a second block while others allocate too. */
const ADDRESSES_EACH = 15;
const HOSTS = ["left", "right"];
const BLOCK_SIZE = 64;

const PEERS = [
  { name: "etcd", isInstalled: etcdIsInstalled(), start: () => startEtcd(), package: "etcd-server" },
  {
    name: "PostgreSQL",
    isInstalled: postgresIsInstalled(),
    start: () => startPostgres({ connections: CLIENTS }),
    package: "postgresql",
  },
];

describe.each(PEERS)("the peer $name", ({ isInstalled, start, package: packageName }) => {
  const when = isInstalled ? "" : ` (skipped: the server is not installed; Debian: ${packageName})`;
  let peer: Peer;
  /** As two processes have them: what one knows the other does not. */
  let connections: Allocator[] = [];

  beforeAll(async () => {
    if (!isInstalled) return;
    peer = await start();
    await peer.reset(HOSTS);
    connections = [0, 1].map(() => connectPeer(peer.name, peer.endpoint, { connections: CLIENTS / 2 }));
  });

  afterAll(async () => {
    for (const connection of connections) await connection.close();
    const first = peer?.pids()[0];
    await peer?.close();
    if (first !== undefined) expect(existsSync(`/proc/${first}`)).toBe(false);
  });

  /** Every client allocates on both hosts, through one of the two connections. Shape: host and address by handle. */
  async function allocateAtOnce(prefix: string): Promise<Map<string, Omit<Held, "handle">>> {
    const acknowledged = new Map<string, Omit<Held, "handle">>();
    const client = async (number: number): Promise<void> => {
      for (let count = 0; count < ADDRESSES_EACH; count += 1) {
        const handle = `${prefix}.${number}.${count}`;
        const host = HOSTS[(number + count) % HOSTS.length] ?? "";
        const address = await connections[number % 2]?.allocate(host, handle);
        acknowledged.set(handle, { address: address ?? "", host });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
    return acknowledged;
  }

  async function stored(): Promise<Map<string, Omit<Held, "handle">>> {
    const held = await peer.list();
    expect(faultsOf(held, held.length)).toEqual([]);
    return new Map(held.map(({ handle, address, host }) => [handle, { address, host }]));
  }

  it.skipIf(!isInstalled)(`holds exactly what ${CLIENTS} clients on two hosts were told${when}`, async () => {
    const acknowledged = await allocateAtOnce("all");
    expect(acknowledged.size).toBe(CLIENTS * ADDRESSES_EACH);
    expect(await stored()).toEqual(acknowledged);
    const hostsOfBlocks = new Map<string, Set<string>>();
    for (const { address, host } of acknowledged.values()) {
      const [a, b, c, last] = address.split(".");
      const block = [a, b, c, Math.floor(Number(last) / BLOCK_SIZE)].join(".");
      hostsOfBlocks.set(block, (hostsOfBlocks.get(block) ?? new Set()).add(host));
    }
    expect([...hostsOfBlocks.values()].filter(({ size }) => size > 1)).toEqual([]);
  });

  it.skipIf(!isInstalled)(`gives a handle that asks again what it has${when}`, async () => {
    const before = await stored();
    const [first = ""] = before.keys();
    const { address, host } = before.get(first) ?? { address: "", host: "" };
    expect(await Promise.all(connections.map((one) => one.allocate(host, first)))).toEqual([
      address,
      address,
    ]);
    expect(await stored()).toEqual(before);
    const atOnce = await Promise.all([0, 1, 0, 1].map((one) => connections[one]?.allocate(host, "at.once")));
    expect(new Set(atOnce).size).toBe(1);
    await peer.release(host, "at.once");
    expect(await stored()).toEqual(before);
  });

  it.skipIf(!isInstalled)(
    `frees what is released while others allocate, and nothing else${when}`,
    async () => {
      const before = await stored();
      const released = [...before].filter((_, position) => position % 2 === 0);
      const [added] = await Promise.all([
        allocateAtOnce("more"),
        ...released.map(([handle, { host }], number) => connections[number % 2]?.release(host, handle)),
      ]);
      for (const [handle] of released) before.delete(handle);
      expect(await stored()).toEqual(new Map([...before, ...added]));
      const [[again = "", { host = "" } = {}] = []] = released;
      await peer.release(host, again);
      expect(await stored()).toEqual(new Map([...before, ...added]));
    },
  );

  it.skipIf(!isInstalled)(`refuses a host that nobody has named${when}`, async () => {
    const before = await stored();
    await expect(peer.allocate("nowhere", "lost")).rejects.toThrow();
    expect(await stored()).toEqual(before);
  });

  it.skipIf(!isInstalled)(`bears a load from two processes, which is checked${when}`, async () => {
    const short = { clients: 4, hosts: 2, seconds: 0.3, warmUpSeconds: 0.1, processes: 2 };
    const allocated = await loadPeer(peer, { ...short, what: "allocate" });
    expect(allocated).toMatchObject({ failed: 0 });
    expect(allocated.requests).toBeGreaterThan(0);
    expect(allocated.serverMegabytes).toBeGreaterThan(1);
    expect(allocated.serverShare).toBeGreaterThan(0);
    expect(allocated.held).toBeGreaterThanOrEqual(allocated.requests);
    expect(await peer.list()).toHaveLength(allocated.held);
    const paired = await loadPeer(peer, { ...short, what: "pair" });
    expect(paired).toMatchObject({ failed: 0, held: 0 });
    expect(await peer.list()).toEqual([]);
  });
});

describe("the check after a load", () => {
  const good: Held[] = [
    { address: "10.64.0.0", handle: "one", host: "left" },
    { address: "10.64.0.1", handle: "two", host: "left" },
  ];

  it("finds nothing where all is well", () => {
    expect(faultsOf(good, 2)).toEqual([]);
  });

  it.each([
    ["an address given out twice", [{ address: "10.64.0.0", handle: "three", host: "right" }], 3],
    ["a handle with two addresses", [{ address: "10.64.0.2", handle: "one", host: "left" }], 3],
    ["an acknowledged one that is lost", [], 3],
    ["one that nobody was told of", [], 1],
  ])("finds %s", (_what, added, acknowledged) => {
    expect(faultsOf([...good, ...added], acknowledged)).toHaveLength(1);
  });
});

const END_LOOKS = 200;
const whenPostgres = postgresIsInstalled()
  ? ""
  : " (skipped: the server is not installed; Debian: postgresql)";

it.skipIf(!postgresIsInstalled())(
  `a benchmark that is interrupted leaves no memory that PostgreSQL shared${whenPostgres}`,
  async () => {
    const program = `
      const { startPostgres } = await import("./bench/peers/peer.ts");
      const peer = await startPostgres();
      const { readFileSync } = await import("node:fs");
      const [first] = peer.pids();
      console.log(first, readFileSync("/proc/sysvipc/shm", "utf8").includes(" " + first + " "));
      process.exit(0);`;
    const cwd = new URL("../../", import.meta.url);
    const told = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { cwd });
    const [first, shared] = told.toString().trim().split(" ");
    expect(shared).toBe("true");
    const isLeft = () => readFileSync("/proc/sysvipc/shm", "utf8").includes(` ${first} `);
    for (let look = 0; look < END_LOOKS && isLeft(); look += 1) await setTimeout(50);
    expect(isLeft()).toBe(false);
  },
  60_000,
);
