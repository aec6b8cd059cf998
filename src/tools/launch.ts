/**
 * Launches the service on bare workerd: bundle, configuration, lock, open files, readiness, end.
 * A library for start.ts and for tests; it prints nothing and reads no environment variables.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { bundleWorker, deployedEntry } from "./bundle.ts";
import {
  conflictExitCode,
  findLockTools,
  isLocked,
  type LockTools,
  lockPrefix,
  nameHolders,
  takeLockFile,
} from "./data-lock.ts";
import { publicFolder } from "./public-files.ts";
import { workerdConfig } from "./workerd-config.ts";

/** workerd crashes when it runs out of open files; each live object takes three. */
const openFilesMin = 16_384;
const openFilesPerObject = 3;
/** Open files that workerd needs besides objects: sockets, the lock, the configuration. */
const openFilesReserved = 512;
/** A start on a large data folder replays nothing; half a minute is a machine in trouble. */
const readyWithinMs = 30_000;
/** workerd closes about 330 databases a second when it is told to stop. */
const stopWithinMs = 120_000;

/** A start that was refused, with a message for the person who asked for it. */
export class StartRefused extends Error {}

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
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
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
  const vars = { PLATFORM: "local", ...(authMode === "none" ? { AUTH_MODE: "none" } : {}), ...options.vars };
  const secrets = options.tokens === undefined ? [] : ["IPAM_TOKENS"];
  const socket = `${host}:${options.port}`;
  const setting = { objectsFolder, publicFolder, bundle: "worker.js", socket, vars, secrets };
  writeFileSync(configFile, workerdConfig(setting));

  const child = spawnWorkerd(configFile, lockPrefix(lockTools, resolve(dataFolder, "lock")), options.tokens);
  if (!lockTools.flock && child.pid !== undefined) {
    nameHolders(resolve(dataFolder, "lock.pid"), [process.pid, child.pid]);
  }
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((settle) => {
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
  const ready = whenReady(child, socket, ended, () => log).then((url) => {
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

function authModeOf({ tokens, address }: LaunchOptions): AuthMode {
  if (tokens !== undefined) {
    return "tokens";
  }
  return isLoopback(address) ? "none" : "not configured";
}

/** The hard limit of open files, which the soft limit is raised to. */
function openFilesLimit(): number {
  const text = spawnSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).stdout.trim();
  const limit = text === "unlimited" ? 1_048_576 : Number(text);
  if (!(limit >= openFilesMin)) {
    throw new StartRefused(
      `only ${text || "an unknown number of"} files may be open at once and at least ${openFilesMin} are needed: ` +
        "each live object takes three. Raise the hard limit (ulimit -Hn, or LimitNOFILE= in systemd).",
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

/** The binary itself, not the script that npm may have put before it: signals must reach workerd. */
function workerdBinary(): string {
  const require = createRequire(import.meta.url);
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const architecture = process.arch === "x64" ? "64" : process.arch;
  const folder = resolve(require.resolve("workerd/package.json"), "..");
  const binary = resolve(folder, `../@cloudflare/workerd-${platform}-${architecture}/bin/workerd`);
  return existsSync(binary) ? binary : resolve(folder, "bin/workerd");
}

function spawnWorkerd(configFile: string, prefix: string[], tokens: string | undefined): ChildProcess {
  const raise = ["sh", "-c", 'ulimit -Sn "$(ulimit -Hn)"; exec "$@"', "sh"];
  const serve = [workerdBinary(), "serve", "--control-fd=3", configFile];
  const [program = "", ...rest] = [...prefix, ...raise, ...serve];
  const { IPAM_TOKENS: _, ...environment } = process.env;
  return spawn(program, rest, {
    // Its own process group: a Ctrl-C in the terminal reaches us only, and we stop it in order.
    detached: true,
    env: tokens === undefined ? environment : { ...environment, IPAM_TOKENS: tokens },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
}

/** Waits for the port that workerd reports, then for an answer of the Worker. */
async function whenReady(
  child: ChildProcess,
  socket: string,
  ended: Launched["ended"],
  log: () => string,
): Promise<string> {
  const abort = new AbortController();
  const overdue = setTimeout(() => abort.abort(), readyWithinMs);
  let lost = "";
  void ended.then(({ code }) => {
    lost = code === conflictExitCode ? "another start took the data folder at the same moment" : "";
    abort.abort();
  });
  try {
    const port = await listeningPort(child, abort.signal);
    const url = `http://${socket.replace(/:\d+$/, `:${port}`)}`;
    while (!abort.signal.aborted) {
      const answer = await fetch(`${url}/healthz`, { signal: abort.signal });
      await answer.arrayBuffer();
      if (answer.ok) {
        return url;
      }
      await new Promise((settle) => setTimeout(settle, 50));
    }
    throw new Error("aborted");
  } catch {
    if (log().includes("Address already in use")) {
      throw new StartRefused(
        `another program listens on ${socket}.\nChoose another port: PORT=8788 npm start`,
      );
    }
    throw new StartRefused(`workerd did not become ready: ${lost || log().trim() || "it says nothing"}`);
  } finally {
    clearTimeout(overdue);
  }
}

function listeningPort(child: ChildProcess, signal: AbortSignal): Promise<number> {
  return new Promise((settle, fail) => {
    signal.addEventListener("abort", () => fail(new Error("aborted")));
    let text = "";
    child.stdio[3]?.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const port = /"event":"listen","socket":"http","port":(\d+)/.exec(text)?.[1];
      if (port !== undefined) {
        settle(Number(port));
      }
    });
  });
}
