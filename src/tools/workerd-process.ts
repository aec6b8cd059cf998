/**
 * The process of bare workerd: which binary, how it is spawned, when it is ready.
 * May import: Node and data-lock.ts. Whatever stands before workerd in the command replaces itself by it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { conflictExitCode } from "./data-lock.ts";

/** A start on a large data folder replays nothing; half a minute is a machine in trouble. */
const readyWithinMs = 30_000;

/** A start that was refused, with a message for the person who asked for it. */
export class StartRefused extends Error {}

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
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

/**
 * Spawns workerd on a configuration, behind the words that lock the data folder.
 *
 * Invariant: the process id is workerd's own, and its soft limit of open files is the hard one.
 */
export function spawnWorkerd(
  configFile: string,
  prefix: string[],
  secrets: Readonly<Record<string, string>>,
): ChildProcess {
  const raise = ["sh", "-c", 'ulimit -Sn "$(ulimit -Hn)"; exec "$@"', "sh"];
  const serve = [workerdBinary(), "serve", "--control-fd=3", configFile];
  const [program = "", ...rest] = [...prefix, ...raise, ...serve];
  // Only what was asked for: a secret of our own environment is none of it unless it was.
  const { IPAM_TOKENS: _, KUBERNETES_TOKEN: __, ...environment } = process.env;
  return spawn(program, rest, {
    // Its own process group: a Ctrl-C in the terminal reaches us only, and we stop it in order.
    detached: true,
    env: { ...environment, ...secrets },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
}

/**
 * Waits for the port that workerd reports, then for an answer of the Worker; returns its address.
 *
 * Rejects: `StartRefused` with what workerd said, when it ends or is not ready in time.
 */
export async function whenReady(
  child: ChildProcess,
  socket: string,
  ended: Promise<Ended>,
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
