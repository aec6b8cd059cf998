/**
 * Allocations beside a request that does nothing and one durable write, interleaved in one run.
 * May import: the load, the service, the table. Times depend on the machine, so only ratios are worth keeping.
 */
import { type Call, type Measurement, measure, median, type Target } from "./load.ts";
import { withService } from "./service.ts";
import { type Column, head, line } from "./table.ts";

const HOSTS = 50;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const WARM_UP_SECONDS = 0.5;
/** A process that has just begun has not compiled its code: that is not what a service of days costs. */
const FIRST_WARM_UP_SECONDS = 4;
const WARM_UP_CLIENTS = 64;

const COLUMNS: readonly Column[] = [
  { title: "clients", width: 7, digits: 0 },
  { title: "what", width: 19 },
  { title: "per s", width: 7, digits: 0 },
  { title: "p50 ms", width: 8, digits: 2 },
  { title: "p99 ms", width: 7, digits: 1 },
  { title: "/no-op", width: 7, digits: 2 },
  { title: "/write", width: 7, digits: 2 },
  { title: "p50/w", width: 7, digits: 2 },
  { title: "failed", width: 6, digits: 0 },
];

interface Subject {
  readonly name: string;
  readonly call: Call;
  readonly measured: Measurement[];
}

/** What is compared. Each allocation has a handle of its own; blocks are /26, claimed as they fill. */
function subjects(target: Target): Subject[] {
  const send = (path: string, host: string, id: string) =>
    target.send("POST", path, { host, handle: `bench.${id}`, ipv4: { count: 1 } });
  const allocate = (host: string, id: string) => send("/v1/allocations", host, id);
  const calls: [string, Call][] = [
    ["no-op", () => target.send("POST", "/bench/noop", { host: "bench-0" })],
    ["checks, no object", (_client, count) => send("/bench/no-call/v1", "bench-0", `${count}`)],
    ["checks, one call", (_client, count) => send("/bench/one-call/v1", "bench-0", `${count}`)],
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

function row(clients: number, subject: Subject, noOp: Subject, floor: Subject): string {
  const of = ({ measured }: Subject, what: keyof Measurement): number =>
    median(measured.map((one) => one[what]));
  const [rate, p50] = [of(subject, "perSecond"), of(subject, "p50")];
  return line(COLUMNS, [
    clients,
    subject.name,
    rate,
    p50,
    of(subject, "p99"),
    rate / of(noOp, "perSecond"),
    rate / of(floor, "perSecond"),
    p50 / of(floor, "p50"),
    subject.measured.reduce((sum, { failed }) => sum + failed, 0),
  ]);
}

/** Prints rates and times at 1, 16 and 64 clients, on one host and on many. */
export async function benchAllocate(): Promise<void> {
  await withService(compare);
}

async function compare(target: Target): Promise<void> {
  await prepare(target);
  console.log(`Medians of ${ROUNDS} interleaved rounds of ${SECONDS} s. Ratios: rate to the no-op's,`);
  console.log("rate to the durable write's, and p50 to the durable write's.\n");
  console.log(head(COLUMNS));
  for (const { call } of subjects(target)) await measure(call, WARM_UP_CLIENTS, FIRST_WARM_UP_SECONDS);
  for (const clients of [1, 16, 64]) {
    const all = subjects(target);
    const [noOp, , , floor] = all;
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
