/** The collector at the size that it is built for: thousands of hosts, some leaks on half of them. */
import { afterAll, expect, test } from "vitest";
import { SweepObject } from "../../../durable-objects/sweep.ts";
import { CLASSES, Scene } from "../../support/simulation/scene.ts";
import { MINUTE } from "./sweep-stage.ts";

const HOSTS = 2_000;
/** Addresses of each host, one pod each; on every second host some pods go without a word. */
const PER_HOST = 30;
const LEAKS_PER_HOST = 3;
/** Calls that one event may make; the platform's own limit is 1,000. */
const CALLS_PER_EVENT_MAX = 900;
const GRACE_MINUTES = 15;
/** Minutes between the reports of an agent, and after the last one. */
const PAUSES = [4, 4, 4, 4, 3, 4];

const isLeaking = (host: number): boolean => host % 2 === 0;
const nameOf = (host: number): string => `node-${host}`;
const podOf = (host: number, pod: number): string => `pod-${host}-${pod}`;

/** All calls of all objects in each event of the Sweep. */
const callsPerEvent: number[] = [];
let scene: Scene;

function callsInAll(): number {
  return Object.values(scene.world.counters.read().calls).reduce((sum, calls) => sum + calls, 0);
}

class CountedSweep extends SweepObject {
  override async alarm(): Promise<void> {
    const before = callsInAll();
    await super.alarm();
    callsPerEvent.push(callsInAll() - before);
  }
}

afterAll(() => scene.world.dispose());

/** What an agent says that sees the pods that live. */
function report(host: number, sequence: number, isBefore: boolean) {
  const gone = !isBefore && isLeaking(host) ? LEAKS_PER_HOST : 0;
  const living = Array.from({ length: PER_HOST - gone }, (_, n) => podOf(host, n + gone));
  const workloads = living.map((pod) => ({ handle: `net.${pod}`, namespace: "web", pod, addresses: [] }));
  const said = { incarnation: "one", sequence, ageMs: 0, complete: true, workloads };
  return scene.deployed.ports.host(nameOf(host)).reportWorkloads({ host: nameOf(host), ...said });
}

async function allocateAll(): Promise<void> {
  for (let host = 0; host < HOSTS; host += 1) {
    const wishes = Array.from({ length: PER_HOST }, (_, pod) => {
      const name = podOf(host, pod);
      return { handle: `net.${name}`, v4: 1, attributes: { namespace: "web", pod: name } };
    });
    const all = await scene.world.during(Promise.all(scene.allocateMany(nameOf(host), wishes)));
    expect(all.every(({ kind }) => kind === "ok")).toBe(true);
  }
}

async function reports(sequence: number, isBefore: boolean): Promise<void> {
  const lot = 50;
  for (let first = 0; first < HOSTS; first += lot) {
    const hosts = Array.from({ length: Math.min(lot, HOSTS - first) }, (_, n) => first + n);
    const all = await scene.world.during(Promise.all(hosts.map((host) => report(host, sequence, isBefore))));
    expect(all.every((said) => said.ok && said.value.accepted)).toBe(true);
  }
}

/** Handles that hold an address, by the rows of all blocks. */
function handlesHeld(): Set<string> {
  const blocks = scene.world.objectNames.filter((object) => object.startsWith("block:"));
  const query = "SELECT json_extract(current, '$.handle') AS handle FROM ordinals WHERE current IS NOT NULL";
  return new Set(
    blocks.flatMap((block) => scene.world.rows(block, query).map(({ handle }) => String(handle))),
  );
}

/** A minute with a call of the trigger. */
async function minute(): Promise<void> {
  await scene.world.during(scene.deployed.ports.sweep().tick({ source: "cron" }));
  await scene.world.advance(MINUTE);
}

async function minutes(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await minute();
}

test("I11: of 60,000 addresses of 2,000 hosts the 3,000 leaked ones go within two periods", async () => {
  const began = process.cpuUsage();
  const hosts = Array.from({ length: HOSTS }, (_, host) => nameOf(host));
  scene = await Scene.open({
    pools: { default: { cidr: "10.0.0.0/8", blockSize: 26 } },
    hosts,
    isTraced: false,
    config: { leakGraceSeconds: GRACE_MINUTES * 60 },
    classes: { ...CLASSES, SweepObject: CountedSweep },
    settings: { tickMs: 0 },
  });
  await allocateAll();
  await reports(1, true);
  await minutes(3);
  // From here on, some pods are gone.
  const goneAt = scene.world.now;
  for (const [number, pauseMinutes] of PAUSES.entries()) {
    await reports(2 + number, false);
    await minutes(pauseMinutes);
  }
  expect(scene.world.now - goneAt).toBeLessThanOrEqual(2 * GRACE_MINUTES * MINUTE);
  const left = handlesHeld();
  const leaked = Array.from({ length: HOSTS }, (_, host) => host).filter(isLeaking);
  const gone = leaked.flatMap((host) => Array.from({ length: LEAKS_PER_HOST }, (_, pod) => podOf(host, pod)));
  expect(gone.filter((pod) => left.has(`net.${pod}`))).toEqual([]);
  expect(left.size).toBe(HOSTS * PER_HOST - gone.length);
  const gc = await scene.world.during(scene.deployed.ports.sweep().getGc({}));
  expect(gc.counts).toEqual({ candidates: 0, confirmed: 0, held: 0 });
  expect(gc).toMatchObject({ releasedLastHour: gone.length, breaker: { open: false }, hostsStale: 0 });
  expect(gc.sweep).toBeGreaterThanOrEqual(3);
  expect(Math.max(...callsPerEvent)).toBeLessThanOrEqual(CALLS_PER_EVENT_MAX);
  // A slice that calls next to nothing would prove nothing.
  expect(Math.max(...callsPerEvent)).toBeGreaterThan(100);
  const { user, system } = process.cpuUsage(began);
  const [seconds, mebibytes] = [(user + system) / 1e6, process.memoryUsage().rss / 2 ** 20];
  expect(seconds).toBeLessThan(400);
  expect(mebibytes).toBeLessThan(3_000);
  console.info(`${HOSTS} hosts: ${seconds.toFixed(0)} s of CPU, ${mebibytes.toFixed(0)} MiB`);
  console.info(`at most ${Math.max(...callsPerEvent)} calls in each of ${callsPerEvent.length} events`);
}, 600_000);
