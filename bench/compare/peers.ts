/**
 * etcd and PostgreSQL as lines of the comparison, in the same rounds as the service.
 * May import: bench/peers. Rule: one that is not installed is named, and nothing stands in for it.
 */
import { loadPeer } from "../peers/load.ts";
import { etcdIsInstalled, type Peer, postgresIsInstalled, startEtcd, startPostgres } from "../peers/peer.ts";
import type { Contender } from "./contender.ts";
import { add, type Line } from "./line.ts";
import type { PeerMemory } from "./report.ts";
import { ENDS, LEVELS } from "./subject.ts";

const WARM_UP_SECONDS = 0.5;
const PEERS = [
  { id: "etcd", name: "etcd", isInstalled: etcdIsInstalled, start: startEtcd, package: "etcd-server" },
  {
    id: "postgres",
    name: "PostgreSQL",
    isInstalled: postgresIsInstalled,
    start: () => startPostgres(),
    package: "postgresql",
  },
] as const;

/** What each peer is asked to do. */
const KINDS = [
  { suffix: "-1", hosts: 1, what: "allocate", text: "1 host", clients: LEVELS },
  { suffix: "-50", hosts: 50, what: "allocate", text: "50 hosts", clients: LEVELS },
  { suffix: "-pairs-1", hosts: 1, what: "pair", text: "pairs", clients: ENDS },
  { suffix: "-pairs-50", hosts: 50, what: "pair", text: "pairs, 50", clients: ENDS },
] as const;

type Kind = (typeof KINDS)[number];

export const PEER_IDS: readonly string[] = PEERS.flatMap(({ id }) =>
  KINDS.map(({ suffix }) => `${id}${suffix}`),
);

export interface Peers {
  readonly contenders: readonly Contender[];
  /** In words, for each that does not take part. */
  readonly skipped: readonly string[];
  memory(): PeerMemory[];
  close(): Promise<void>;
}

/** A peer that runs, and the most memory that was seen. */
interface Running {
  readonly peer: Peer;
  readonly name: string;
  readonly startedMegabytes: number;
  mostMegabytes: number;
}

/** Starts the peers that are installed and wanted. */
export async function startPeers(isWanted: (id: string) => boolean): Promise<Peers> {
  const started: Running[] = [];
  const close = async (): Promise<void> => {
    for (const { peer } of started) await peer.close();
  };
  const contenders: Contender[] = [];
  const skipped: string[] = [];
  for (const { id, name, isInstalled, start, package: packageName } of PEERS) {
    const kinds = KINDS.filter(({ suffix }) => isWanted(`${id}${suffix}`));
    if (kinds.length === 0) continue;
    if (!isInstalled()) {
      skipped.push(`${name} is not installed (apt-get install ${packageName}): it takes no part.`);
      continue;
    }
    const peer = await start().catch(async (error: unknown) => {
      await close();
      throw error;
    });
    const running = { peer, name, startedMegabytes: peer.memory(), mostMegabytes: peer.memory() };
    started.push(running);
    for (const kind of kinds) {
      const line = { id: `${id}${kind.suffix}`, name: `${name}, ${kind.text}` };
      for (const clients of kind.clients)
        contenders.push(new PeerContender(running, kind, { ...line, clients }));
    }
  }
  const memory = () =>
    started.map(({ name, startedMegabytes: first, mostMegabytes: most }) => ({ name, started: first, most }));
  return { contenders, skipped, memory, close };
}

class PeerContender implements Contender {
  readonly line: Line;
  readonly #running: Running;
  readonly #kind: Kind;

  constructor(running: Running, kind: Kind, line: Pick<Line, "id" | "name" | "clients">) {
    this.line = { ...line, addresses: 1, rounds: [] };
    this.#running = running;
    this.#kind = kind;
  }

  /** Each round warms up its own process. */
  async warmUp(): Promise<void> {}

  async round(seconds: number): Promise<void> {
    const { clients } = this.line;
    const { hosts, what } = this.#kind;
    const options = { clients, hosts, seconds, what, warmUpSeconds: WARM_UP_SECONDS };
    const measured = await loadPeer(this.#running.peer, options);
    const { requests, failed, perSecond, p50, p99, cpuShare, retries } = measured;
    this.#running.mostMegabytes = Math.max(this.#running.mostMegabytes, measured.serverMegabytes);
    const cpuMicros = (measured.serverShare * 1e6) / perSecond;
    const figures = { perSecond, p50, p99, share: cpuShare, cpuMicros, retries };
    add(this.line, { operations: requests, failed, ...figures });
  }
}
