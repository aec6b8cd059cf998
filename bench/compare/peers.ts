/**
 * etcd and PostgreSQL as lines of the comparison, in the same rounds as the service.
 * May import: bench/peers. Rule: one that is not installed is named, and nothing stands in for it.
 */
import { loadPeer } from "../peers/load.ts";
import { etcdIsInstalled, type Peer, postgresIsInstalled, startEtcd, startPostgres } from "../peers/peer.ts";
import type { Contender } from "./contender.ts";
import { add, type Line } from "./line.ts";
import { LEVELS } from "./subject.ts";

const HOSTS = [1, 50];
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

export const PEER_IDS: readonly string[] = PEERS.flatMap(({ id }) => HOSTS.map((hosts) => `${id}-${hosts}`));

export interface Peers {
  readonly contenders: readonly Contender[];
  /** In words, for each that does not take part. */
  readonly skipped: readonly string[];
  close(): Promise<void>;
}

/** Starts the peers that are installed and wanted. */
export async function startPeers(isWanted: (id: string) => boolean): Promise<Peers> {
  const started: Peer[] = [];
  const close = async (): Promise<void> => {
    for (const peer of started) await peer.close();
  };
  const contenders: Contender[] = [];
  const skipped: string[] = [];
  for (const { id, name, isInstalled, start, package: packageName } of PEERS) {
    const lines = HOSTS.map((hosts) => ({ hosts, id: `${id}-${hosts}` })).filter((line) => isWanted(line.id));
    if (lines.length === 0) continue;
    if (!isInstalled()) {
      skipped.push(`${name} is not installed (apt-get install ${packageName}): it takes no part.`);
      continue;
    }
    const peer = await start().catch(async (error: unknown) => {
      await close();
      throw error;
    });
    started.push(peer);
    for (const line of lines) {
      const text = `${name}, ${line.hosts} host${line.hosts === 1 ? "" : "s"}`;
      for (const clients of LEVELS) {
        contenders.push(new PeerContender(peer, line.hosts, { id: line.id, name: text, clients }));
      }
    }
  }
  return { contenders, skipped, close };
}

class PeerContender implements Contender {
  readonly line: Line;
  readonly #peer: Peer;
  readonly #hosts: number;

  constructor(peer: Peer, hosts: number, line: Pick<Line, "id" | "name" | "clients">) {
    this.line = { ...line, addresses: 1, rounds: [] };
    this.#peer = peer;
    this.#hosts = hosts;
  }

  /** Each round warms up its own process. */
  async warmUp(): Promise<void> {}

  async round(seconds: number): Promise<void> {
    const { clients } = this.line;
    const hosts = this.#hosts;
    const options = { clients, hosts, seconds, what: "allocate", warmUpSeconds: WARM_UP_SECONDS } as const;
    const { requests, failed, perSecond, p50, p99, cpuShare, retries, serverShare } = await loadPeer(
      this.#peer,
      options,
    );
    const cpuMicros = (serverShare * 1e6) / perSecond;
    add(this.line, {
      operations: requests,
      failed,
      perSecond,
      p50,
      p99,
      share: cpuShare,
      cpuMicros,
      retries,
    });
  }
}
