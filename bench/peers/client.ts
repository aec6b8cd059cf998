/**
 * `node bench/peers/client.ts '{"peer": "etcd", …}'`: a load on a peer, from a process of its own.
 * May import: the peers. Rule: bounded in time; prints one line of JSON, and tells its parent what is timed.
 */
import { once } from "node:events";
import { connectPeer, type PeerName } from "./peer.ts";

/** Shape: a `pair` is an allocation and its release, timed and counted as one. */
export interface LoadOptions {
  readonly peer: PeerName;
  readonly endpoint: string;
  readonly clients: number;
  /** Client after client goes to the next host with each request. */
  readonly hosts: number;
  readonly seconds: number;
  readonly what: "allocate" | "pair";
  /** Before it is timed: a process that has just begun has not compiled its code. */
  readonly warmUpSeconds?: number;
  /** Handles begin with it: another for each process and run. */
  readonly name: string;
}

/** Units: per second, milliseconds, shares of one core. */
export interface Load {
  readonly requests: number;
  readonly failed: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** What this process took of one core. */
  readonly cpuShare: number;
  readonly retries: number;
  /** Allocations that succeeded and were not released, those of the warm-up too. */
  readonly held: number;
  /** What the first failure said. */
  readonly failure?: string;
}

/** Of the timed part. */
export type Moment = "begins" | "ended";

const WARM_UP_SECONDS = 1;

/** The names of hosts that a load uses; `reset` makes them known. */
export function hostNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `bench-${index}`);
}

/** Runs the load in this process. */
export async function runLoad(options: LoadOptions): Promise<Load> {
  const { clients, seconds, what, warmUpSeconds = WARM_UP_SECONDS } = options;
  const allocator = connectPeer(options.peer, options.endpoint, { connections: clients });
  const names = hostNames(options.hosts);
  let [count, held] = [0, 0];
  let failure: string | undefined;
  const once = async (client: number): Promise<boolean> => {
    count += 1;
    const [host = "", handle] = [names[(client + count) % names.length], `${options.name}.${count}`];
    try {
      await allocator.allocate(host, handle);
      held += 1;
      if (what === "allocate") return true;
      await allocator.release(host, handle);
      held -= 1;
      return true;
    } catch (error) {
      failure ??= String(error);
      return false;
    }
  };
  const period = async (length: number): Promise<{ times: number[]; failed: number; elapsedMs: number }> => {
    const [times, start]: [number[], number] = [[], performance.now()];
    let failed = 0;
    const client = async (number: number): Promise<void> => {
      while (performance.now() < start + length * 1000) {
        const sentAt = performance.now();
        if (!(await once(number))) failed += 1;
        times.push(performance.now() - sentAt);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    return { times, failed, elapsedMs: performance.now() - start };
  };
  try {
    await period(warmUpSeconds);
    process.send?.("begins" satisfies Moment);
    const [retriesBefore, cpuBefore] = [allocator.retries(), process.cpuUsage()];
    const { times, failed, elapsedMs } = await period(seconds);
    const { user, system } = process.cpuUsage(cpuBefore);
    await tellEnd();
    times.sort((one, other) => one - other);
    const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
    return {
      requests: times.length,
      failed,
      perSecond: (times.length * 1000) / elapsedMs,
      p50: at(0.5),
      p99: at(0.99),
      cpuShare: (user + system) / 1000 / elapsedMs,
      retries: allocator.retries() - retriesBefore,
      held,
      ...(failure === undefined ? {} : { failure }),
    };
  } finally {
    await allocator.close();
  }
}

/** Tells the parent that the timed part has ended, and waits until it has looked at the database. */
async function tellEnd(): Promise<void> {
  if (process.send === undefined) return;
  const noted = once(process, "message");
  process.send("ended" satisfies Moment);
  await noted;
}

if (import.meta.main) console.log(JSON.stringify(await runLoad(JSON.parse(process.argv[2] ?? "{}"))));
