/**
 * The deployed service under load while it is killed, or stopped, and started again on its data:
 * nothing acknowledged is lost, nothing is given out twice, and a retry finds its own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { StartRefused } from "../../src/tools/launch.ts";
import { checkHistory } from "../support/history.ts";
import { HttpClient } from "../support/http-client.ts";
import { seed } from "../support/seeds.ts";
import { type Service, startService } from "../support/service.ts";
import { checkAgreement, takePicture } from "./load/agreement.ts";
import { pause, Recorder, tenureOf } from "./load/recorder.ts";
import { Workload } from "./load/workload.ts";

const clients = 64;
const hosts = ["node-a", "node-b", "node-c", "node-d"];
const addresses = Array.from({ length: 128 }, (_, last) => `10.3.0.${last}`);
/** Hosts that ask for no third block; exact assignments, which no cap refuses, are made by the others. */
const capped = hosts.slice(0, 2);
const blocksMax = 2;
const cooldownSeconds = 1;
/** Until a message that left before the end can no longer arrive: 2 s and the clocks' difference. */
const settleMs = 2_200;

let dataDir: string;
let service: Service;
let client: HttpClient;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "edge-ipam-restart-"));
  service = await startService({ dataDir });
  client = new HttpClient(() => service.url, clients);
  await client.must("PATCH", "/v1/config", { ipCooldownSeconds: cooldownSeconds });
  await client.must("PUT", "/v1/pools/small", { cidr: "10.3.0.0/25", blockSize: 28 });
  for (const host of hosts) await client.must("PUT", `/v1/hosts/${host}`, { labels: {} });
});

afterEach(async () => {
  client.close();
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Runs the load for so long while `disturb` goes on beside it. */
async function loadWhile(forMs: number, disturb: () => Promise<void>): Promise<Recorder> {
  const recorder = new Recorder(client);
  const bodyOf = (host: string) => (capped.includes(host) ? { maxBlocksPerHost: blocksMax } : {});
  const assigningHosts = hosts.filter((host) => !capped.includes(host));
  const options = { hosts, assigningHosts, addresses, heldMax: 100, seed, bodyOf };
  await Promise.all([new Workload(recorder, options).run(clients, { leastMs: forMs }), disturb()]);
  await pause(settleMs);
  return recorder;
}

async function expectSound({ history, seen }: Recorder): Promise<void> {
  const counts = [...seen].toSorted().map(([what, count]) => `${what} ${count}`);
  console.log(`seed ${seed}: ${history.length} requests; ${counts.join(", ")}`);
  const picture = await takePicture(client, hosts);
  const final = picture.allocations.map(tenureOf);
  const violations = checkHistory(history, { final, cooldownMs: cooldownSeconds * 1000 });
  expect(violations.slice(0, 20), `seed ${seed}`).toEqual([]);
  expect((await checkAgreement(client, picture)).slice(0, 20), `seed ${seed}`).toEqual([]);
  for (const { name, ipv4 } of picture.hosts.filter((host) => capped.includes(host.name))) {
    expect(ipv4.owned, `I10: ${name}`).toBeLessThanOrEqual(blocksMax);
  }
}

it("I1–I6, I10, I12–I15: SIGKILL in the middle of the load of 64 clients, three times", async () => {
  const pids = [service.pid];
  const recorder = await loadWhile(9_000, async () => {
    for (let kills = 0; kills < 3; kills += 1) {
      await pause(1_300 + ((seed >>> kills) % 7) * 100);
      await service.kill();
      await service.restart();
      pids.push(service.pid);
    }
  });
  expect(new Set(pids).size).toBe(4);
  // The kills met requests under way, and retries with the same key found out what became of them.
  // A request that nobody took is not among them: it is no part of the history.
  const open = recorder.history.filter(({ kind, outcome }) => kind === "allocate" && outcome === "unknown");
  expect(open.length).toBeGreaterThan(0);
  const retried = recorder.history.filter(
    (operation) =>
      operation.kind === "allocate" &&
      operation.outcome === "ok" &&
      open.some((one) => one.kind === "allocate" && one.key === operation.key),
  );
  expect(retried.length).toBeGreaterThan(0);
  await expectSound(recorder);
});

it("I4: SIGTERM in the middle of the load loses nothing", async () => {
  const { pid } = service;
  const recorder = await loadWhile(4_000, async () => {
    await pause(1_500);
    await service.restart();
  });
  expect(service.pid).not.toBe(pid);
  await expectSound(recorder);
});

it("I13: a key whose answer was lost with the process gives the same addresses after the restart", async () => {
  const recorder = new Recorder(client);
  const wish = { host: "node-a", handle: "pod.1", key: "pod.1-eth0" };
  const before = await recorder.allocate(wish);
  await service.kill();
  await service.restart();
  const after = await recorder.allocate(wish);
  expect(after.outcome).toBe("ok");
  expect(after.got).toEqual(before.got);
  await recorder.release({ handle: "pod.1" });
  await service.kill();
  await service.restart();
  expect((await recorder.allocate(wish)).code).toBe("idempotency_key_released");
  await expectSound(recorder);
});

it("I1: a second start on the same data is refused while the first serves, and after its kill is not", async () => {
  await expect(startService({ dataDir })).rejects.toThrow(StartRefused);
  await client.must("GET", "/healthz");
  await service.kill();
  await service.restart();
  await expect(startService({ dataDir })).rejects.toThrow(StartRefused);
});
