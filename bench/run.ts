/**
 * `npm run bench -- allocate`: allocations beside a request that does nothing and one durable write.
 * Times depend on the machine, so only ratios of one run are worth keeping. Loopback only, bounded.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "../src/tools/launch.ts";
import { type Call, type Measurement, measure, median, Target } from "./load.ts";

const HOSTS = 50;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 2);
const WARM_UP_SECONDS = 0.5;

interface Subject {
  readonly name: string;
  readonly call: Call;
  readonly measured: Measurement[];
}

/** What is compared. Each allocation has a handle of its own; blocks are /26, claimed as they fill. */
function subjects(target: Target): Subject[] {
  const allocate = (host: string, id: string) =>
    target.send("POST", "/v1/allocations", { host, handle: `bench.${id}`, ipv4: { count: 1 } });
  const calls: [string, Call][] = [
    ["no-op", () => target.send("POST", "/bench/noop", { host: "bench-0" })],
    ["one durable write", (client) => target.send("POST", `/bench/write/${client}`, { host: "bench-0" })],
    ["allocate, 1 host", (_client, count) => allocate("bench-0", `${count}`)],
    [
      `allocate, ${HOSTS} hosts`,
      (client, count) => allocate(`bench-${(client + count) % HOSTS}`, `${count}`),
    ],
  ];
  return calls.map(([name, call]) => ({ name, call, measured: [] }));
}

async function prepare(target: Target): Promise<void> {
  await target.mustSend("PUT", "/v1/pools/bench", { cidr: "10.64.0.0/10" });
  // Strict affinity only because a cap of its own needs it; the cap must not end the run.
  await target.mustSend("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 100_000 });
  for (let host = 0; host < HOSTS; host += 1) {
    await target.mustSend("PUT", `/v1/hosts/bench-${host}`, { labels: {} });
    const first = { host: `bench-${host}`, handle: `bench.first-${host}`, ipv4: { count: 1 } };
    await target.mustSend("POST", "/v1/allocations", first);
  }
}

function row(clients: number, { name, measured }: Subject, noOp: Subject, floor: Subject): string {
  const of = (subject: Subject, what: keyof Measurement): number =>
    median(subject.measured.map((one) => one[what]));
  const rate = median(measured.map(({ perSecond }) => perSecond));
  const cells = [
    `${clients}`.padStart(7),
    name.padEnd(19),
    rate.toFixed(0).padStart(7),
    median(measured.map(({ p50 }) => p50))
      .toFixed(2)
      .padStart(8),
    median(measured.map(({ p99 }) => p99))
      .toFixed(1)
      .padStart(7),
    (rate / of(noOp, "perSecond")).toFixed(2).padStart(7),
    (rate / of(floor, "perSecond")).toFixed(2).padStart(7),
    (median(measured.map(({ p50 }) => p50)) / of(floor, "p50")).toFixed(2).padStart(7),
    `${measured.reduce((sum, { failed }) => sum + failed, 0)}`.padStart(6),
  ];
  return cells.join(" ");
}

async function benchAllocate(target: Target): Promise<void> {
  await prepare(target);
  console.log(`Medians of ${ROUNDS} interleaved rounds of ${SECONDS} s. Ratios: rate to the no-op's,`);
  console.log("rate to the durable write's, and p50 to the durable write's.\n");
  console.log("clients what                  per s   p50 ms  p99 ms /no-op /write   p50/w failed");
  for (const clients of [1, 16, 64]) {
    const all = subjects(target);
    const [noOp, floor] = all;
    if (noOp === undefined || floor === undefined) return;
    for (const { call } of all) await measure(call, clients, WARM_UP_SECONDS);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { call, measured } of all) measured.push(await measure(call, clients, SECONDS));
    }
    for (const subject of all) console.log(row(clients, subject, noOp, floor));
    const share = median(all.flatMap(({ measured }) => measured.map(({ generatorShare }) => generatorShare)));
    console.log(`        (the generator took ${(share * 100).toFixed(0)} % of one core)`);
  }
}

const name = process.argv[2] ?? "allocate";
if (name !== "allocate") {
  console.error(`bench: unknown measurement ${name}; there is: allocate`);
  process.exit(1);
}
const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-bench-"));
const entry = new URL("entry.ts", import.meta.url).pathname;
const service = await launch({ dataFolder, port: 0, address: "127.0.0.1", entry });
const target = new Target(await service.ready);
try {
  await benchAllocate(target);
} finally {
  target.close();
  await service.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
