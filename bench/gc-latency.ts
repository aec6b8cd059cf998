/**
 * How those who allocate fare while sweep follows sweep, which no trigger does: in turns with and without.
 * May import: the load, the table. Rule: only the ratios of turns next to each other are worth keeping.
 */
import { Fleet, type Measurement, median } from "./generator/fleet.ts";
import { type Column, head, line, Progress } from "./table.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);

const LATENCY: readonly Column[] = [
  { title: "one address, 1 client", width: 24 },
  { title: "p50 ms", width: 8, digits: 2 },
  { title: "p99 ms", width: 8, digits: 1 },
  { title: "per s", width: 8, digits: 0 },
  { title: "p50 ratio", width: 9, digits: 2 },
  { title: "failed", width: 6, digits: 0 },
];

/** Prints what one client sees that allocates on `hosts` hosts named `busy-…`. */
export async function compareLatency(url: string, hosts: number, sweep: () => Promise<void>): Promise<void> {
  const body = { host: "busy-{h}", handle: "busy.{n}", ipv4: { count: 1 } };
  const steps = [{ method: "POST", path: "/v1/allocations", body: JSON.stringify(body) }];
  const fleet = new Fleet(1);
  let from = 0;
  const measure = async (): Promise<Measurement> => {
    const measured = await fleet.run({ url, plan: { steps, hosts }, clients: 1, seconds: SECONDS, from });
    from = measured.next;
    return measured;
  };
  const [quiet, swept]: [Measurement[], Measurement[]] = [[], []];
  const progress = new Progress("allocating", 2 * ROUNDS);
  let sweeps = 0;
  try {
    await measure();
    for (let round = 0; round < ROUNDS; round += 1) {
      quiet.push(await measure());
      progress.show(2 * round + 1);
      let isOver = false;
      const sweeping = (async () => {
        while (!isOver) {
          await sweep();
          sweeps += 1;
        }
      })();
      swept.push(await measure());
      isOver = true;
      await sweeping;
      progress.show(2 * round + 2);
    }
  } finally {
    fleet.close();
  }
  print(quiet, swept);
  console.log(`(medians of ${ROUNDS} rounds of ${SECONDS} s in turn; ${sweeps} sweeps)`);
}

function print(quiet: readonly Measurement[], swept: readonly Measurement[]): void {
  const of = (all: readonly Measurement[], what: "p50" | "p99" | "perSecond") =>
    median(all.map((one) => one[what]));
  console.log(head(LATENCY));
  for (const [name, all] of [
    ["without a sweep", quiet],
    ["sweep after sweep", swept],
  ] as const) {
    const ratio = of(all, "p50") / of(quiet, "p50");
    const failed = all.reduce((sum, one) => sum + one.failed, 0);
    const times = [of(all, "p50"), of(all, "p99"), of(all, "perSecond")];
    console.log(line(LATENCY, [name, ...times, ratio, failed]));
  }
}
