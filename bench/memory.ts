/**
 * The memory of workerd as live allocations grow to 100,000.
 * May import: the load, the table. Bare workerd keeps every object that was used, so nothing is given back.
 */
import type { Target } from "./load.ts";
import { type Column, head, line, Progress } from "./table.ts";

const LIVE = Number(process.env.BENCH_LIVE ?? 100_000);
const PER_BLOCK = 64;
const PER_HOST = 100;
const TRIES = 30;
const CLIENTS = 4;
const MEMORY_COLUMNS: readonly Column[] = [
  { title: "live allocations", width: 16, digits: 0 },
  { title: "hosts", width: 6, digits: 0 },
  { title: "blocks", width: 7, digits: 0 },
  { title: "MiB", width: 7, digits: 0 },
  { title: "KiB/allocation", width: 15, digits: 1 },
];

/** Each allocation has a handle of its own; a host holds a hundred, in two blocks. */
export async function measureMemory(target: Target, memory: () => number): Promise<void> {
  const atStart = memory();
  const hosts = Math.ceil(LIVE / PER_HOST);
  await target.mustSend("PUT", "/v1/pools/memory", { cidr: "10.64.0.0/10", blockSize: 26 });
  console.log(`Memory of workerd; after the start it had ${atStart.toFixed(0)} MiB.\n`);
  console.log(head(MEMORY_COLUMNS));
  const progress = new Progress("allocating in batches", hosts);
  let begun = 0;
  let done = 0;
  const client = async (): Promise<void> => {
    while (begun < hosts) {
      const host = `memory-${begun}`;
      begun += 1;
      await target.mustSend("PUT", `/v1/hosts/${host}`, { labels: {} });
      await allocateAll(target, host);
      done += 1;
      progress.show(done);
      if (done % Math.ceil(hosts / 4) !== 0 && done !== hosts) continue;
      const now = memory();
      const live = done * PER_HOST;
      const values = [
        live,
        done,
        done * Math.ceil(PER_HOST / PER_BLOCK),
        now,
        ((now - atStart) * 1024) / live,
      ];
      console.log(line(MEMORY_COLUMNS, values));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** Sends a batch again, with its keys, where the service was too busy for a part of it. */
async function allocateAll(target: Target, host: string): Promise<void> {
  const items = Array.from({ length: PER_HOST }, (_, number) => {
    const handle = `${host}.${number}`;
    return { key: `${handle}.key`, handle, ipv4: { count: 1 }, attributes: { pod: handle, node: host } };
  });
  let said = "";
  for (let left = TRIES; left > 0; left -= 1) {
    const { status, text } = await target.send("POST", "/v1/allocation-batches", { host, items });
    said = `${status} ${text.slice(0, 300)}`;
    if (status === 200) {
      const { results } = JSON.parse(text) as { results: { status: number; problem?: unknown }[] };
      const failed = results.filter(({ problem }) => problem !== undefined);
      if (failed.length === 0) return;
      said = JSON.stringify(failed[0]).slice(0, 300);
      if (failed.some((item) => item.status < 500)) break;
    }
    await new Promise((settle) => setTimeout(settle, 1_000));
  }
  throw new Error(`a batch answered ${said}`);
}
