/**
 * PostgreSQL for a benchmark: a cluster of its own on loopback, durable, with the usual settings of a server.
 * May import: the server, the driver. Rule: fsync and synchronous_commit stay on; it never runs as root.
 */
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findProgram, freePorts, type Server, startServer } from "./server.ts";

/** Where Debian puts the programs, a folder for each version. */
const VERSIONS = "/usr/lib/postgresql";
/** PostgreSQL refuses to be root; Debian's package makes this user. */
const SYSTEM_USER = "postgres";
export const DATABASE_USER = "bench";

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  fsync: "on",
  synchronous_commit: "on",
  shared_buffers: "256MB",
  wal_buffers: "16MB",
  min_wal_size: "1GB",
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
  random_page_cost: "1.1",
  autovacuum_naptime: "10s",
  jit: "off",
  // Only for queries in parallel, of which there are none; so what it shares goes with its folder.
  dynamic_shared_memory_type: "mmap",
};

function programFolders(): string[] {
  if (!existsSync(VERSIONS)) return [];
  const versions = readdirSync(VERSIONS).sort((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(VERSIONS, version, "bin"));
}

export function postgresIsInstalled(): boolean {
  return findProgram("postgres", programFolders()) !== undefined;
}

/** Makes a cluster and starts it; a setting given here goes before the usual one, to measure it. */
export async function startPostgresServer(settings: Readonly<Record<string, string>> = {}): Promise<Server> {
  const program = findProgram("postgres", programFolders());
  const initdb = findProgram("initdb", programFolders());
  if (program === undefined || initdb === undefined) throw new Error("PostgreSQL is not installed");
  const folder = mkdtempSync(join(tmpdir(), "edge-ipam-postgres-"));
  const data = join(folder, "data");
  const user = systemUser();
  try {
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const parameters = [
      "-D",
      data,
      "-U",
      DATABASE_USER,
      "-A",
      "trust",
      "-E",
      "UTF8",
      "--locale=C",
      "--no-sync",
    ];
    execFileSync(initdb, parameters, { cwd: folder, stdio: ["ignore", "ignore", "pipe"], ...user });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  const [port] = await freePorts(1);
  const all = Object.entries({ ...SETTINGS, port: `${port}`, ...settings });
  const parameters = ["-D", data, ...all.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const endpoint = `127.0.0.1:${port}`;
  const command = {
    program,
    parameters,
    folder,
    endpoint,
    stopSignal: "SIGINT",
    quitSignal: "SIGQUIT",
    ...(user && { user }),
  } as const;
  return startServer(command, () => answers(endpoint));
}

/** Where it is at an endpoint, for the driver. */
export function connectionOf(endpoint: string): pg.ClientConfig {
  const [host = "", port = ""] = endpoint.split(":");
  return { host, port: Number(port), user: DATABASE_USER, database: "postgres" };
}

async function answers(endpoint: string): Promise<boolean> {
  const client = new pg.Client(connectionOf(endpoint));
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** As whom to run it; absent: as this process, which is not root. */
function systemUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (of: string): number => Number(execFileSync("id", [of, SYSTEM_USER], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
