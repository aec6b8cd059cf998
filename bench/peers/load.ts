/**
 * A load on a peer from processes of their own, and the check of what it left.
 * May import: the client, the peers. Rule: no figure is given for a run whose allocations are wrong.
 */
import { spawn } from "node:child_process";
import { hostNames, type Load, type LoadOptions, type Moment } from "./client.ts";
import { faultsOf, type Peer } from "./peer.ts";

const CLIENT = new URL("client.ts", import.meta.url).pathname;

/** Shape: `processes` share the clients; one if it is absent. */
export type PeerLoadOptions = Omit<LoadOptions, "peer" | "endpoint" | "name"> & {
  readonly processes?: number;
};

/** Of all processes together, with what the database took of the processors. */
export interface PeerLoad extends Load {
  /** Units: shares of one core, while it was timed. */
  readonly serverShare: number;
  /** Units: MiB of the database at the end, with all clients still connected. */
  readonly serverMegabytes: number;
}

let runs = 0;

/** Empties the peer, runs the load, and checks every allocation. Rejects: what is wrong, in words. */
export async function loadPeer(peer: Peer, options: PeerLoadOptions): Promise<PeerLoad> {
  const { processes = 1, clients } = options;
  await peer.reset(hostNames(options.hosts));
  runs += 1;
  const moments: { readonly at: number; readonly serverSeconds: number }[] = [];
  let serverMegabytes = 0;
  const onMoment = (moment: Moment): void => {
    moments.push({ at: performance.now(), serverSeconds: peer.processorSeconds() });
    if (moment === "ended") serverMegabytes = Math.max(serverMegabytes, peer.memory());
  };
  const loads = await Promise.all(
    Array.from({ length: processes }, (_, position) =>
      runClient(
        {
          ...options,
          peer: peer.name,
          endpoint: peer.endpoint,
          name: `run-${runs}.${position}`,
          clients: Math.floor((clients + position) / processes),
        },
        onMoment,
      ),
    ),
  );
  const [first, last] = [moments.at(0), moments.at(-1)];
  if (first === undefined || last === undefined) throw new Error("the load did not say when it was timed");
  const serverShare = ((last.serverSeconds - first.serverSeconds) * 1000) / (last.at - first.at);
  const all = { ...merged(loads), serverShare, serverMegabytes };
  const faults = faultsOf(await peer.list(), all.held);
  if (all.failed > 0) faults.push(`${all.failed} failed, the first one: ${all.failure}`);
  if (faults.length > 0) throw new Error(`${peer.name}: ${faults.join("; ")}`);
  return all;
}

function merged(loads: readonly Load[]): Load {
  const sum = (of: (load: Load) => number): number => loads.reduce((total, load) => total + of(load), 0);
  const failure = loads.find((load) => load.failure !== undefined)?.failure;
  return {
    requests: sum(({ requests }) => requests),
    failed: sum(({ failed }) => failed),
    perSecond: sum(({ perSecond }) => perSecond),
    p50: sum(({ p50 }) => p50) / loads.length,
    p99: Math.max(...loads.map(({ p99 }) => p99)),
    cpuShare: sum(({ cpuShare }) => cpuShare),
    retries: sum(({ retries }) => retries),
    held: sum(({ held }) => held),
    ...(failure === undefined ? {} : { failure }),
  };
}

function runClient(options: LoadOptions, onMoment: (moment: Moment) => void): Promise<Load> {
  return new Promise((settle, fail) => {
    const parameters = [CLIENT, JSON.stringify(options)];
    const child = spawn(process.execPath, parameters, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    let printed = "";
    child.on("message", (moment: Moment) => {
      onMoment(moment);
      // It keeps its connections until then.
      if (moment === "ended") child.send("noted");
    });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    child.once("error", fail);
    child.once("close", (code) => {
      if (code === 0) settle(JSON.parse(printed));
      else fail(new Error(`the load on ${options.peer} ended with ${code}`));
    });
  });
}
