/**
 * What the service is compared with: an allocator on a database that a team might run instead.
 * May import: the peers. Rule: a peer promises what the service promises: durable, and no address twice.
 */
import { proportionalMegabytes } from "../processes.ts";
import { connectEtcd } from "./etcd-peer.ts";
import { startEtcdServer } from "./etcd-server.ts";
import { connectPostgres } from "./postgres-peer.ts";
import { startPostgresServer } from "./postgres-server.ts";
import type { Server } from "./server.ts";

export { etcdIsInstalled } from "./etcd-server.ts";
export { postgresIsInstalled } from "./postgres-server.ts";

/** An address that is given out, to whom, and on which host. */
export interface Held {
  readonly address: string;
  readonly handle: string;
  readonly host: string;
}

/** A connection to a database as one process has it; several processes may have one each. */
export interface Allocator {
  /** One address for this host and handle; asked again for the same handle, the same one. */
  allocate(host: string, handle: string): Promise<string>;
  /** Frees what the handle holds. */
  release(host: string, handle: string): Promise<void>;
  /** Every allocation there is, after its own books have been checked against each other. */
  list(): Promise<readonly Held[]>;
  /** Forgets all allocations and blocks, and makes these hosts known. Run it before each load. */
  reset(hosts: readonly string[]): Promise<void>;
  /** How often this connection has begun anew because another was first. */
  retries(): number;
  close(): Promise<void>;
}

export type PeerName = "etcd" | "postgres";

/** An allocator together with the database behind it, which ends with it. */
export interface Peer extends Allocator {
  readonly name: PeerName;
  /** What client.ts is told, for a load from a process of its own. */
  readonly endpoint: string;
  /** The processes of the database that live now, the first one first. */
  pids(): readonly number[];
  /** MiB of all its processes; what they share is counted once. */
  memory(): number;
  /** Time of processors that the database has taken since its start, in seconds. */
  processorSeconds(): number;
}

/** Shape: `connections` at once to the database; a pool has as many as it has clients. */
export interface PeerOptions {
  readonly connections?: number;
}

/** Opens a connection of this process to a peer that another process has started. */
export function connectPeer(name: PeerName, endpoint: string, options: PeerOptions = {}): Allocator {
  return name === "etcd" ? connectEtcd(endpoint) : connectPostgres(endpoint, options.connections ?? 1);
}

/** Starts etcd on loopback with a folder of its own; `close` ends it and removes the folder. */
export async function startEtcd(): Promise<Peer> {
  return peer("etcd", await startEtcdServer());
}

/** Starts PostgreSQL on loopback with a cluster of its own; `close` ends it and removes the folder. */
export async function startPostgres(options: PeerOptions = {}): Promise<Peer> {
  return peer("postgres", await startPostgresServer(), options);
}

function peer(name: PeerName, server: Server, options: PeerOptions = {}): Peer {
  const allocator = connectPeer(name, server.endpoint, options);
  return {
    name,
    endpoint: server.endpoint,
    pids: () => server.pids(),
    memory: () => proportionalMegabytes(server.pids()),
    processorSeconds: () => server.processorSeconds(),
    allocate: (host, handle) => allocator.allocate(host, handle),
    release: (host, handle) => allocator.release(host, handle),
    list: () => allocator.list(),
    reset: (hosts) => allocator.reset(hosts),
    retries: () => allocator.retries(),
    close: async () => {
      await allocator.close().finally(() => server.stop());
    },
  };
}

/** What is wrong with the allocations after a load, in words; nothing if all is well. */
export function faultsOf(held: readonly Held[], acknowledged: number): string[] {
  const addresses = new Set(held.map(({ address }) => address));
  const handles = new Set(held.map(({ handle }) => handle));
  return [
    ...(addresses.size === held.length ? [] : [`${held.length - addresses.size} addresses given out twice`]),
    ...(handles.size === held.length ? [] : [`${held.length - handles.size} handles with several addresses`]),
    ...(held.length === acknowledged ? [] : [`${acknowledged} acknowledged, but ${held.length} stored`]),
  ];
}
