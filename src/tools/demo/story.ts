/**
 * What the demonstration does, chapter by chapter, and how it undoes it.
 * May import: the demonstration's calls and screen. Rule: only pools, hosts and handles of its own names.
 */
import { type Allocation, type Answer, Calls, type Route, type Usage } from "./calls.ts";
import * as screen from "./screen.ts";

const { say } = screen;

/**
 * Ranges for benchmarks and documentation (RFC 2544, RFC 3849): nobody's addresses.
 * Why so many: on a service with a long cooldown those of the last runs still rest.
 */
const POOLS = [
  { name: "edge-ipam-demo-4", cidr: "198.18.0.0/21", blockSize: 26 },
  { name: "edge-ipam-demo-6", cidr: "2001:db8:de::/112", blockSize: 122 },
] as const;
const HOSTS = ["ipam-demo-a", "ipam-demo-b"] as const;
/** A host that asks for too much and gets nothing. */
const GREEDY = "ipam-demo-c";
const LABEL = "edge-ipam-demo";
const PODS_PER_HOST = 150;
/** Requests under way at once, per host. */
const CONCURRENT = 16;
const COOLDOWN_SECONDS = 20;

/** What is known of the run: its handles are its own, so that a second run meets none of the first. */
interface Run {
  readonly calls: Calls;
  readonly id: string;
  readonly held: Map<string, readonly Allocation[]>;
  /** What the service had before it was changed for a chapter. */
  cooldownBefore?: number;
}

/** Wishes for one address of each family, from the demonstration's pools only. */
function pod(host: string, handle: string) {
  const [four, six] = POOLS;
  const ipv4 = { count: 1, pools: [four.name] };
  return { host, handle, ipv4, ipv6: { count: 1, pools: [six.name] } };
}

async function setUp({ calls }: Run): Promise<void> {
  screen.chapter("Two pools, cut into blocks of 64 addresses, and two hosts");
  for (const host of HOSTS) {
    await calls.send("PUT", `/v1/hosts/${host}`, { body: { labels: { [LABEL]: "yes" } }, isShown: true });
  }
  await Promise.all(POOLS.map((pool) => openPool(calls, pool)));
}

/** Makes a pool, or takes back the end of one that an earlier run has left to go. */
async function openPool(calls: Calls, { name, ...spec }: (typeof POOLS)[number]): Promise<void> {
  const path = `/v1/pools/${name}`;
  const here = await calls.all<{ name: string; state: string }>("/v1/pools");
  if (here.some((pool) => pool.name === name && pool.state === "draining")) {
    // Should it go just now, the PUT makes a new one.
    await calls.send("PATCH", path, { body: { draining: false } }).catch(() => undefined);
  }
  const body = { ...spec, nodeSelector: `${LABEL} == 'yes'` };
  await calls.send("PUT", path, { body, isShown: true });
}

async function allocateMany({ calls, id, held }: Run): Promise<void> {
  screen.chapter(`${PODS_PER_HOST} pods on each host, ${CONCURRENT} requests of each host at once`);
  say("Each asks for an IPv4 and an IPv6 address, both or none:");
  screen.request(
    "POST",
    "/v1/allocations",
    pod(HOSTS[0], `demo.${id}.ipam-demo-a.1`),
    `demo.${id}.ipam-demo-a.1`,
  );
  console.log();
  const progress = new screen.Progress(HOSTS, PODS_PER_HOST);
  const begun = performance.now();
  const lanes = HOSTS.flatMap((host) => {
    let next = 0;
    return Array.from({ length: CONCURRENT }, async () => {
      while (next < PODS_PER_HOST) {
        next += 1;
        const handle = `demo.${id}.${host}.${next}`;
        const { allocations } = await calls.send("POST", "/v1/allocations", {
          body: pod(host, handle),
          key: handle,
          status: 201,
        });
        held.set(handle, allocations);
        progress.advance(host);
      }
    });
  });
  // Every lane ends before anything is tidied up, also when one of them failed.
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  const seconds = (performance.now() - begun) / 1_000;
  const addresses = [...held.values()].flat().map(({ address }) => address);
  const distinct = new Set(addresses).size;
  say(`${held.size} requests, ${addresses.length} addresses in ${seconds.toFixed(1)} s; ${distinct} differ.`);
  if (distinct !== addresses.length) throw new Error("an address was given twice");
}

async function showUse({ calls }: Run): Promise<void> {
  screen.chapter("How full the pools are");
  for (const [at, { name }] of POOLS.entries()) {
    const path = `/v1/utilization?pool=${name}&exact=true`;
    screen.request("GET", path);
    const usages = await calls.all<Usage>(path);
    const rows = usages.map((one) => [
      one.cidr,
      String(one.blocks),
      one.allocated,
      one.cooling,
      one.available,
      `${one.usedPercent} %`,
    ]);
    screen.table(["CIDR", "blocks", "held", "cooling", "available", "used"], rows);
    if (at < POOLS.length - 1) console.log();
  }
  screen.chapter("Where the network sends an address: a route per block, not per pod");
  const path = `/v1/routes?pool=${POOLS[0].name}`;
  screen.request("GET", path);
  const routes = await calls.all<Route>(path);
  screen.table(
    ["destination", "host", "kind"],
    routes.map(({ destination, host, kind }) => [destination, host, kind]),
  );
}

async function repeat({ calls, id, held }: Run): Promise<void> {
  screen.chapter("The answer was lost on the way? The same request once more");
  const key = `demo.${id}.ipam-demo-a.7`;
  const again = await calls.send("POST", "/v1/allocations", {
    body: pod("ipam-demo-a", key),
    key,
    status: 201,
    isShown: true,
  });
  const first = addressesOf(held.get(key) ?? []);
  say(`first  ${first}`);
  say(`now    ${addressesOf(again.allocations)}   replayed: ${again.replayed}`);
  if (addressesOf(again.allocations) !== first) throw new Error("a repeat got other addresses");
}

async function pullThePlug({ calls, held }: Run, restart: () => Promise<string>): Promise<void> {
  screen.chapter("A power cut: SIGKILL, and a new start on the same data");
  calls.url = await restart();
  const listed = await listHeld(calls);
  const expected = addressesOf([...held.values()].flat());
  say(`${listed.length} addresses are held, the same ones: ${addressesOf(listed) === expected}.`);
  if (addressesOf(listed) !== expected) throw new Error("what was answered is not there any more");
}

async function beRefused({ calls, id }: Run): Promise<void> {
  screen.chapter("A refusal says why, and what to do");
  say("A third host wants one address more than the single block that it may own has.");
  await calls.send("PUT", `/v1/hosts/${GREEDY}`, { body: { labels: { [LABEL]: "yes" } } });
  const handle = `demo.${id}.${GREEDY}.1`;
  const wish = pod(GREEDY, handle);
  const body = { ...wish, ipv4: { ...wish.ipv4, count: 65 }, maxBlocksPerHost: 1 };
  const refusal = await calls.send("POST", "/v1/allocations", { body, status: 409, isShown: true });
  say(`< 409 ${refusal.code}, retry: ${refusal.retry}`);
  say(`${refusal.detail}`, "     ");
  say(`Next: ${refusal.hint}`, "     ");
  const { items } = await calls.send("GET", `/v1/handles/${handle}`);
  say(`All or none, of both families: the handle holds ${items.length} addresses.`);
}

async function coolDown(run: Run): Promise<void> {
  const { calls, id } = run;
  screen.chapter(`A released address rests, here for ${COOLDOWN_SECONDS} s`);
  const { ipCooldownSeconds } = await calls.send("GET", "/v1/config");
  run.cooldownBefore = ipCooldownSeconds;
  const cooldown = { ipCooldownSeconds: COOLDOWN_SECONDS };
  await calls.send("PATCH", "/v1/config", { body: cooldown, isShown: true });
  const path = `/v1/handles/demo.${id}.ipam-demo-b.1`;
  const { released } = await calls.send("DELETE", path, { isShown: true });
  say(`< released: ${released}`);
  const list = "/v1/allocations?host=ipam-demo-b&state=cooling";
  screen.request("GET", list);
  const cooling = await calls.all<Allocation>(list);
  screen.table(
    ["address", "last held by", "free again at (UTC)"],
    cooling.map(({ address, handle, freeAt = "" }) => [address, handle, freeAt.slice(11, 19)]),
  );
}

function notice(): void {
  console.log("\nWhat to notice\n");
  for (const sentence of [
    "No request named a block or an address: hosts got blocks as they needed them.",
    "Nothing was given twice, though 32 requests were under way all the time.",
    "A repeat is safe: the same key gets the same addresses, and no others.",
    "Routes are per block: the network learns a few prefixes, not 600 addresses.",
    "A refusal carries its reasons, and nothing of it stays behind.",
    "A released address is not given out again at once, if you say so.",
  ]) {
    say(`- ${sentence}`, "   ", "     ");
  }
}

/**
 * Plays all chapters and gives everything back.
 *
 * Shape: `restart` ends the service as a power cut would, and returns the address of the next; absent
 * where the service is not ours to end.
 */
export async function play(calls: Calls, restart: (() => Promise<string>) | undefined): Promise<void> {
  const run: Run = { calls, id: Date.now().toString(36), held: new Map() };
  try {
    await setUp(run);
    await allocateMany(run);
    await showUse(run);
    await repeat(run);
    if (restart !== undefined) await pullThePlug(run, restart);
    await beRefused(run);
    await coolDown(run);
    notice();
  } finally {
    if (restart === undefined) await tidyUp(run);
  }
}

/** Gives back what the run holds, lets the pools go, and says what is left. */
async function tidyUp({ calls: { url, token }, cooldownBefore }: Run): Promise<void> {
  const calls = new Calls(url, token);
  if (cooldownBefore !== undefined) {
    await calls.send("PATCH", "/v1/config", { body: { ipCooldownSeconds: cooldownBefore } });
  }
  const handles = [...new Set((await listHeld(calls)).map(({ handle }) => handle))];
  for (let at = 0; at < handles.length; at += 64) {
    await calls.send("POST", "/v1/releases", { body: { handles: handles.slice(at, at + 64) } });
  }
  const pools = (await calls.all<{ name: string }>("/v1/pools")).map(({ name }) => name);
  const ours = POOLS.map(({ name }) => name as string).filter((name) => pools.includes(name));
  await Promise.all(ours.map((name) => calls.send("DELETE", `/v1/pools/${name}`)));
  say("\nEverything is released, and settings are as they were. The pools go when their", "");
  say(`last address has cooled. What is left: the hosts ${[...HOSTS, GREEDY].join(", ")}.`, "");
}

async function listHeld(calls: Calls): Promise<Allocation[]> {
  const lists = HOSTS.map((host) => calls.all<Allocation>(`/v1/allocations?host=${host}`));
  const pools = POOLS.map(({ name }) => name as string);
  return (await Promise.all(lists))
    .flat()
    .filter((one) => pools.includes((one as { pool?: string }).pool ?? ""));
}

function addressesOf(allocations: Answer["allocations"]): string {
  const addresses = allocations.map(({ address }) => address);
  return addresses.length > 2 ? addresses.toSorted().join() : addresses.join("  ");
}
