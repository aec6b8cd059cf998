/**
 * Network namespaces and the real bridge plugin, for the tests of the main job. Needs root.
 * May import: Node, test/cni. Names carry the process id; what was made is removed by `remove`.
 */

import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { type Finished, PATH_WITH_NODE, runProgram } from "./plugin-process.ts";

const PLUGIN_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin"];
const bridgeFolder = PLUGIN_FOLDERS.find((folder) => existsSync(`${folder}/bridge`));

/** Says why this machine cannot run the bridge plugin, or `undefined` if it can. */
export function whyNoBridge(): string | undefined {
  if (process.getuid?.() !== 0) return "not root";
  if (bridgeFolder === undefined) return "no bridge plugin (package containernetworking-plugins)";
  const probe = `eipam-${process.pid}-probe`;
  const made = spawnSync("ip", ["netns", "add", probe], { encoding: "utf8" });
  if (made.error !== undefined) return "no ip command (package iproute2)";
  if (made.status !== 0) return `no network namespaces: ${made.stderr.trim()}`;
  spawnSync("ip", ["netns", "delete", probe]);
  return undefined;
}

/** Says why namespaces have no IPv6 here, or `undefined` if they have. */
export function whyNoIpv6(): string | undefined {
  const probe = `eipam-${process.pid}-probe6`;
  spawnSync("ip", ["netns", "add", probe]);
  const args = ["-n", probe, "address", "add", "fd00:231::1/128", "dev", "lo"];
  const added = spawnSync("ip", args, { encoding: "utf8" });
  spawnSync("ip", ["netns", "delete", probe]);
  return added.status === 0 ? undefined : `no IPv6 in namespaces: ${added.stderr?.trim()}`;
}

interface KernelAddress {
  local: string;
  prefixlen: number;
  scope: string;
  tentative?: boolean;
}

/** Duplicate address detection takes a second or two where it is on. */
const SETTLE_TRIES_MAX = 600;
const SETTLE_PAUSE_MS = 100;

/** A bridge and namespaces on it, all this process's own. */
export class BridgedNetwork {
  readonly bridge = `eipam${process.pid}`;
  readonly #made: string[] = [];

  /** Makes an empty namespace and gives its name. */
  async addNamespace(label: string): Promise<string> {
    const name = `eipam-${process.pid}-${label}`;
    await mustRun("ip", ["netns", "add", name]);
    this.#made.push(name);
    await mustRun("ip", ["-n", name, "link", "set", "lo", "up"]);
    return name;
  }

  /** Runs the bridge plugin, which finds the IPAM plugin in `ipamFolder`. */
  attach(
    command: "ADD" | "CHECK" | "DEL",
    namespace: string,
    options: {
      containerId: string;
      ipamFolder: string;
      ipam: Record<string, unknown>;
      args?: string;
      prevResult?: unknown;
    },
  ): Promise<Finished> {
    const netconf = {
      cniVersion: "1.0.0",
      name: "edge-net",
      type: "bridge",
      bridge: this.bridge,
      isGateway: false,
      ipMasq: false,
      ipam: { type: "edge-ipam", ...options.ipam },
      ...(options.prevResult === undefined ? {} : { prevResult: options.prevResult }),
    };
    return runProgram(`${bridgeFolder}/bridge`, [], {
      env: {
        PATH: PATH_WITH_NODE,
        CNI_COMMAND: command,
        CNI_CONTAINERID: options.containerId,
        CNI_NETNS: `/var/run/netns/${namespace}`,
        CNI_IFNAME: "eth0",
        CNI_PATH: `${bridgeFolder}:${options.ipamFolder}`,
        CNI_ARGS: options.args ?? "",
      },
      stdin: JSON.stringify(netconf),
    });
  }

  /** Lists the addresses that eth0 has in a namespace, with their prefix, once none is tentative. */
  async addressesOf(namespace: string): Promise<string[]> {
    for (let tries = 0; tries < SETTLE_TRIES_MAX; tries += 1) {
      const shown = await mustRun("ip", ["-n", namespace, "-json", "address", "show", "dev", "eth0"]);
      const links = JSON.parse(shown.stdout) as { addr_info?: KernelAddress[] }[];
      const global = links.flatMap((link) => link.addr_info ?? []).filter((info) => info.scope === "global");
      if (global.every((info) => info.tentative !== true)) {
        return global.map((info) => `${info.local}/${info.prefixlen}`);
      }
      await new Promise((resolve) => setTimeout(resolve, SETTLE_PAUSE_MS));
    }
    throw new Error(`an address of ${namespace} stays tentative`);
  }

  /** Removes everything; what is gone already does not matter. */
  async remove(): Promise<void> {
    for (const name of this.#made.splice(0)) await runProgram("ip", ["netns", "delete", name]);
    await runProgram("ip", ["link", "delete", this.bridge]);
  }
}

const LISTEN = `
  require("node:net").createServer((s) => s.end("from " + s.remoteAddress.replace("::ffff:", "")))
    .listen(7777, process.argv[1], () => console.log("listening"));
`;
const DIAL = `
  require("node:net").connect({ host: process.argv[1], port: 7777, timeout: 30000 })
    .on("timeout", () => process.exit(3)).on("error", (e) => { console.error(e.code); process.exit(2); })
    .pipe(process.stdout);
`;

/**
 * Opens a TCP connection between two namespaces and gives what came back: `from <address of the dialler>`.
 *
 * Why: a connection needs both directions, as a ping does, and no program that may be missing.
 */
export async function talk(from: string, to: string, address: string): Promise<string> {
  const listener = spawn("ip", ["netns", "exec", to, process.execPath, "-e", LISTEN, address], {
    timeout: 90_000,
    killSignal: "SIGKILL",
  });
  const ended = new Promise<void>((resolve) => listener.once("close", () => resolve()));
  try {
    const first = await Promise.race([
      createInterface(listener.stdout)[Symbol.asyncIterator]().next(),
      ended.then(() => undefined),
    ]);
    if (first?.value !== "listening") throw new Error(`nobody listens on ${address} in ${to}`);
    const heard = await mustRun("ip", ["netns", "exec", from, process.execPath, "-e", DIAL, address]);
    return heard.stdout;
  } finally {
    listener.kill("SIGKILL");
    await ended;
  }
}

/** Pings once, if there is a ping; `undefined` if there is none. */
export async function ping(from: string, address: string): Promise<boolean | undefined> {
  if (spawnSync("ping", ["-V"]).error !== undefined) return undefined;
  const pinged = await runProgram("ip", ["netns", "exec", from, "ping", "-c", "1", "-W", "30", address]);
  return pinged.exitCode === 0;
}

async function mustRun(file: string, args: readonly string[]): Promise<Finished> {
  const finished = await runProgram(file, args);
  if (finished.exitCode !== 0)
    throw new Error(`${file} ${args.join(" ")}: ${finished.stderr}${finished.stdout}`);
  return finished;
}
