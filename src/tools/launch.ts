/**
 * Launches the service on bare workerd: bundle, configuration, lock, open files, readiness, end.
 * A library for start.ts and for tests; it prints nothing and reads no environment variables.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { createAuthenticator } from "../http/auth.ts";
import { bundleWorker, deployedEntry } from "./bundle.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import {
  findLockTools,
  isLocked,
  type LockTools,
  lockPrefix,
  nameHolders,
  takeLockFile,
} from "./data-lock.ts";
import { publicFolder } from "./public-files.ts";
import { workerdConfig } from "./workerd-config.ts";
import { type Ended, StartRefused, spawnWorkerd, whenReady } from "./workerd-process.ts";

export { StartRefused };

/** workerd crashes when it runs out of open files; each live object takes three. */
const openFilesMin = 16_384;
const openFilesPerObject = 3;
/** Open files that workerd needs besides objects: sockets, the lock, the configuration. */
const openFilesReserved = 512;
/** workerd closes about 330 databases a second when it is told to stop. */
const stopWithinMs = 120_000;

export interface LaunchOptions {
  dataFolder: string;
  /** 0 picks a free port. */
  port: number;
  /** The address to listen on. */
  address: string;
  /** The Worker's entry file; absent: the deployed one. */
  entry?: string;
  /** Further text bindings. */
  vars?: Record<string, string>;
  /** The value of the secret IPAM_TOKENS; absent: nobody has to show a token on loopback. */
  tokens?: string;
  /** The API server of the cluster whose nodes the hosts are; absent: no cluster is asked. */
  kubernetes?: ClusterAccess;
  /** Receives what workerd and the Worker print, once it is ready; before, a refusal quotes it. */
  onLog?: (text: string) => void;
  /** What of the lock to use; absent: what this machine has. */
  lockTools?: LockTools;
}

export type AuthMode = "none" | "tokens" | "not configured";

export interface Launched {
  pid: number;
  authMode: AuthMode;
  lockTools: LockTools;
  openFiles: number;
  /** How many objects may be live at once. */
  objectsMax: number;
  /** The address once GET /healthz answers. */
  ready: Promise<string>;
  /** Settles when workerd has ended. */
  ended: Promise<Ended>;
  /** Lets running requests finish, closes the databases, ends. */
  stop(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
}

/** Whether only programs on this machine can reach the address. */
export function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || /^127(\.\d{1,3}){3}$/.test(address);
}

/**
 * Starts workerd on the data folder.
 *
 * Rejects: `StartRefused` when the folder is held by another start or too few files may be opened.
 * Invariant: the process with `pid` holds the lock as long as it lives.
 */
export async function launch(options: LaunchOptions): Promise<Launched> {
  const lockTools = options.lockTools ?? findLockTools();
  const openFiles = openFilesLimit();
  const dataFolder = resolve(options.dataFolder);
  const objectsFolder = resolve(dataFolder, "objects");
  const runFolder = resolve(dataFolder, "run");
  for (const folder of [objectsFolder, runFolder, publicFolder]) {
    mkdirSync(folder, { recursive: true });
  }
  const release = holdDataFolder(dataFolder, lockTools);
  await bundleWorker(options.entry ?? deployedEntry, resolve(runFolder, "worker.js"));
  const authMode = authModeOf(options);
  const host = options.address.includes(":") ? `[${options.address}]` : options.address;
  const configFile = resolve(runFolder, "workerd.capnp");
  const { kubernetes } = options;
  const vars = {
    PLATFORM: "local",
    ...(authMode === "none" ? { AUTH_MODE: "none" } : {}),
    ...kubernetes?.vars,
    ...options.vars,
  };
  const secrets = {
    ...(options.tokens === undefined ? {} : { IPAM_TOKENS: options.tokens }),
    ...(kubernetes?.token === undefined ? {} : { KUBERNETES_TOKEN: kubernetes.token }),
  };
  const setting = {
    objectsFolder,
    publicFolder,
    bundle: "worker.js",
    socket: `${host}:${options.port}`,
    vars,
    secrets: Object.keys(secrets),
    ...(kubernetes === undefined ? {} : { cluster: kubernetes }),
  };
  writeFileSync(configFile, workerdConfig(setting));

  const child = spawnWorkerd(configFile, lockPrefix(lockTools, resolve(dataFolder, "lock")), secrets);
  if (!lockTools.flock && child.pid !== undefined) {
    nameHolders(resolve(dataFolder, "lock.pid"), [process.pid, child.pid]);
  }
  const ended = new Promise<Ended>((settle) => {
    child.once("error", () => settle({ code: 1, signal: null }));
    child.once("exit", (code, signal) => settle({ code, signal }));
  }).finally(release);
  let log = "";
  let isReady = false;
  for (const output of [child.stdout, child.stderr]) {
    output?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-4096);
      if (isReady) {
        options.onLog?.(text);
      }
    });
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    const overdue = setTimeout(() => child.kill("SIGKILL"), stopWithinMs);
    await ended;
    clearTimeout(overdue);
  };
  const ready = whenReady(child, setting.socket, ended, () => log).then((url) => {
    isReady = true;
    options.onLog?.(log);
    return url;
  });
  ready.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    authMode,
    lockTools,
    openFiles,
    objectsMax: Math.floor((openFiles - openFilesReserved) / openFilesPerObject),
    ready,
    ended,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}

/** Who is let in: without tokens everybody on loopback, nobody where others could reach us, or by an unsound list. */
export function authModeOf({ tokens, address }: Pick<LaunchOptions, "tokens" | "address">): AuthMode {
  if (tokens !== undefined) return createAuthenticator({ tokens }).isConfigured ? "tokens" : "not configured";
  return isLoopback(address) ? "none" : "not configured";
}

/** The hard limit of open files, which the soft limit is raised to. */
function openFilesLimit(): number {
  const text = spawnSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).stdout.trim();
  const limit = text === "unlimited" ? 1_048_576 : Number(text);
  if (!(limit >= openFilesMin)) {
    throw new StartRefused(
      `only ${text || "an unknown number of"} files may be open at once, and ${openFilesMin} are needed:\n` +
        "each live object takes three.\n" +
        "Raise the hard limit (ulimit -Hn, or LimitNOFILE= in systemd).",
    );
  }
  return limit;
}

/** Refuses a folder that is in use; returns what gives it back. */
function holdDataFolder(dataFolder: string, tools: LockTools): () => void {
  const refuse = (holder: string): never => {
    throw new StartRefused(
      `the data folder ${dataFolder} is in use by ${holder}.\n` +
        "Stop that one first, or choose another folder with IPAM_DATA.",
    );
  };
  if (tools.flock) {
    return isLocked(resolve(dataFolder, "lock")) ? refuse("another start") : () => undefined;
  }
  const lockFile = resolve(dataFolder, "lock.pid");
  const holder = takeLockFile(lockFile);
  return holder === undefined ? () => rmSync(lockFile, { force: true }) : refuse(`process ${holder}`);
}
