/**
 * A database of a benchmark: a process on loopback with a temporary folder, and what it takes of the machine.
 * May import: Node. Rule: whoever starts it ends it by its number, and nothing stays behind.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export interface Server {
  /** How a client reaches it. */
  readonly endpoint: string;
  pids(): readonly number[];
  /** Units: seconds of one core, of all its processes, those that have ended too. */
  processorSeconds(): number;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly program: string;
  readonly parameters: readonly string[];
  /** Removed at the end. */
  readonly folder: string;
  readonly endpoint: string;
  /** As whom it runs; absent: as this process. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly stopSignal: NodeJS.Signals;
  /** Ends it at once, and with it all that it shares with its own processes; absent: nothing of the kind. */
  readonly quitSignal?: NodeJS.Signals;
}

/** In which Linux counts the time of processes. */
const TICKS_PER_SECOND = 100;
const READY_WITHIN_MS = 20_000;
const ASK_AGAIN_MS = 50;
const STOP_WITHIN_MS = 10_000;

/** Starts it, and waits until `isReady`; says what it printed where it ends instead. */
export async function startServer(command: ServerCommand, isReady: () => Promise<boolean>): Promise<Server> {
  const { program, parameters, folder, endpoint, user, stopSignal, quitSignal = "SIGKILL" } = command;
  const child = spawn(program, parameters, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], ...user });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + text).slice(-4_000);
    });
  }
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A benchmark that ends by an error leaves nothing either.
  const onExit = (): void => {
    child.kill(quitSignal);
    remove();
  };
  process.once("exit", onExit);
  const stop = async (): Promise<void> => {
    await end(child, stopSignal);
    process.off("exit", onExit);
    remove();
  };
  const failed = new Promise<never>((_settle, fail) => child.once("error", fail));
  try {
    await Promise.race([failed, untilReady(child, isReady)]);
  } catch (error) {
    await stop();
    throw new Error(`${program} did not start: ${printed}`, { cause: error });
  }
  const pids = () => (child.pid === undefined ? [] : [child.pid, ...childrenOf(child.pid)]);
  return { endpoint, stop, pids, processorSeconds: () => processorSeconds(pids()) };
}

async function untilReady(child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS;
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("it has ended");
    if (performance.now() > until) throw new Error(`it was not ready within ${READY_WITHIN_MS} ms`);
    await new Promise((settle) => setTimeout(settle, ASK_AGAIN_MS));
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((settle) => child.once("exit", settle));
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
  await ended;
  clearTimeout(late);
}

/** So many ports of loopback on which nobody listens. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = await Promise.all(Array.from({ length: count }, listen));
  return Promise.all(
    listeners.map(async (listener) => {
      const bound = listener.address();
      await new Promise((settle) => listener.close(settle));
      return typeof bound === "object" && bound !== null ? bound.port : 0;
    }),
  );
}

function listen(): Promise<ReturnType<typeof createServer>> {
  return new Promise((settle, fail) => {
    const listener = createServer();
    listener.once("error", fail);
    listener.listen(0, "127.0.0.1", () => settle(listener));
  });
}

/** The program in one of the folders, or on the path; absent: it is not installed. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const places = [...folders, ...(process.env.PATH ?? "").split(":")];
  return places.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => statOf(other)?.parent === pid);
}

/** Of the first process also what its children took that have ended. */
function processorSeconds(pids: readonly number[]): number {
  const ticks = pids.map((pid, position) => {
    const stat = statOf(pid);
    return stat === undefined ? 0 : stat.own + (position === 0 ? stat.endedChildren : 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

/**
 * Ticks of a process with one thread, with their fractions; absent: the kernel does not tell.
 * Why: whole ticks of each of 64 processes of a database would lose most of what they take in a second.
 */
function ticksOf(pid: number): number | undefined {
  try {
    const [nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
    return (Number(nanoseconds) / 1e9) * TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}

function statOf(pid: number): { parent: number; own: number; endedChildren: number } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ").map(Number) ?? [];
    const [, parent = 0] = fields;
    const [own1 = 0, own2 = 0, ended1 = 0, ended2 = 0, , , threads] = fields.slice(11, 18);
    const own = threads === 1 ? (ticksOf(pid) ?? own1 + own2) : own1 + own2;
    return { parent, own, endedChildren: ended1 + ended2 };
  } catch {
    return undefined;
  }
}
