/**
 * etcd for a benchmark: one member on loopback, durable as it comes (each write is synced to the disk).
 * May import: the server. Rule: as its users run it, but for ports and folder.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram, freePorts, type Server, startServer } from "./server.ts";

/** As Kubernetes is advised to: a store of 8 GiB, since each version of a block is kept for a while. */
const STORE_BYTES_MAX = 8 * 1024 ** 3;

export function etcdIsInstalled(): boolean {
  return findProgram("etcd") !== undefined;
}

/** Starts one member; one member needs no other's word, so nothing is faster than this. */
export async function startEtcdServer(): Promise<Server> {
  const program = findProgram("etcd");
  if (program === undefined) throw new Error("etcd is not installed (Debian: etcd-server)");
  const folder = mkdtempSync(join(tmpdir(), "edge-ipam-etcd-"));
  const [clientPort, memberPort] = await freePorts(2);
  const clients = `http://127.0.0.1:${clientPort}`;
  const members = `http://127.0.0.1:${memberPort}`;
  const settings = {
    name: "bench",
    "data-dir": join(folder, "data"),
    "listen-client-urls": clients,
    "advertise-client-urls": clients,
    "listen-peer-urls": members,
    "initial-advertise-peer-urls": members,
    "initial-cluster": `bench=${members}`,
    "quota-backend-bytes": `${STORE_BYTES_MAX}`,
    logger: "zap",
    "log-level": "error",
  };
  const parameters = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const endpoint = `127.0.0.1:${clientPort}`;
  return startServer({ program, parameters, folder, endpoint, stopSignal: "SIGTERM" }, async () => {
    const answer = await fetch(`${clients}/health`).catch(() => undefined);
    return answer?.ok === true && /"health":\s*"true"/.test(await answer.text());
  });
}
