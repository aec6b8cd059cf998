/**
 * The memory of workerd as live allocations grow to 100,000.
 * May import: the service, the table. Bare workerd keeps every object that was used, so nothing is given back.
 */
import type { Service } from "./service.ts";
import { type Column, head, line, Progress } from "./table.ts";
import { inLots, type Target } from "./target.ts";

const LIVE = Number(process.env.BENCH_LIVE ?? 100_000);
const PER_BLOCK = 64;
const PER_HOST = 100;
const CLIENTS = 4;
const MEMORY_COLUMNS: readonly Column[] = [
  { title: "live allocations", width: 16, digits: 0 },
  { title: "hosts", width: 6, digits: 0 },
  { title: "blocks", width: 7, digits: 0 },
  { title: "MiB", width: 7, digits: 0 },
  { title: "KiB/allocation", width: 15, digits: 1 },
];

/** Each allocation has a handle of its own; a host holds a hundred, in two blocks. */
export async function measureMemory({ target, memory }: Service): Promise<void> {
  const atStart = memory();
  const hosts = Math.ceil(LIVE / PER_HOST);
  await target.mustSend("PUT", "/v1/pools/memory", { cidr: "10.64.0.0/10", blockSize: 26 });
  console.log(`Memory of workerd; after the start it had ${atStart.toFixed(0)} MiB.\n`);
  console.log(head(MEMORY_COLUMNS));
  const progress = new Progress("allocating in batches", hosts);
  const show = (done: number): void => {
    progress.show(done);
    if (done % Math.ceil(hosts / 4) !== 0 && done !== hosts) return;
    const now = memory();
    const live = done * PER_HOST;
    const blocks = done * Math.ceil(PER_HOST / PER_BLOCK);
    console.log(line(MEMORY_COLUMNS, [live, done, blocks, now, ((now - atStart) * 1024) / live]));
  };
  await inLots(hosts, CLIENTS, (number) => fillHost(target, `memory-${number}`), show);
}

async function fillHost(target: Target, host: string): Promise<void> {
  await target.mustSend("PUT", `/v1/hosts/${host}`, { labels: {} });
  const items = Array.from({ length: PER_HOST }, (_, number) => {
    const handle = `${host}.${number}`;
    return { key: `${handle}.key`, handle, ipv4: { count: 1 }, attributes: { pod: handle, node: host } };
  });
  await target.mustBatch(host, items);
}
