/**
 * Keeps two processes off one data folder: two would hand out duplicates, and workerd does not look.
 * With util-linux the lock is workerd's own open descriptor; elsewhere a file that names the holder.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Which programs this machine offers. */
export interface LockTools {
  /** util-linux flock: locks a file and becomes the program that holds it. */
  flock: boolean;
  /** setpriv: has the kernel kill the program when its parent dies. */
  setpriv: boolean;
}

/** How flock ends when another process holds the lock. */
export const conflictExitCode = 75;

/** Says which of the programs are there (busybox has a flock that cannot do it). */
export function findLockTools(): LockTools {
  const speaks = (program: string, word: string): boolean => {
    const { stdout, error } = spawnSync(program, ["--help"], { encoding: "utf8" });
    return error === undefined && stdout.includes(word);
  };
  return { flock: speaks("flock", "--no-fork"), setpriv: speaks("setpriv", "--pdeathsig") };
}

/**
 * The words to put before a command so that the process it becomes holds the lock and dies with us.
 *
 * Why: Node cannot lock a file, and a lock held by the parent would be lost while workerd lives on.
 * Each program replaces itself by the next, so workerd has the process id that we started.
 */
export function lockPrefix(tools: LockTools, lockFile: string): string[] {
  const lock = ["flock", "--nonblock", "--no-fork", "--conflict-exit-code", `${conflictExitCode}`, lockFile];
  return [...(tools.flock ? lock : []), ...(tools.setpriv ? ["setpriv", "--pdeathsig", "KILL", "--"] : [])];
}

/** Whether another process holds the lock now. */
export function isLocked(lockFile: string): boolean {
  const probe = ["--nonblock", "--conflict-exit-code", `${conflictExitCode}`, lockFile, "true"];
  return spawnSync("flock", probe).status === conflictExitCode;
}

/** The lock file where flock is missing: who holds it, valid for one boot of the machine. */
interface Holder {
  bootId: string;
  pids: number[];
}

/** A name for this boot of the machine; process ids of another boot mean nothing. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function livingHolder(lockFile: string): number | undefined {
  let holder: Holder;
  try {
    holder = JSON.parse(readFileSync(lockFile, "utf8")) as Holder;
  } catch {
    return undefined;
  }
  return holder.bootId === bootId() ? holder.pids.find(isAlive) : undefined;
}

/**
 * Takes the lock file for this process, over a holder that is dead or of an earlier boot.
 *
 * Shape: the process id of the living holder, or undefined when the lock is ours.
 * Invariant: of two that start at once, at most one gets it (the file is created exclusively).
 */
export function takeLockFile(lockFile: string): number | undefined {
  const holder = livingHolder(lockFile);
  if (holder !== undefined) {
    return holder;
  }
  rmSync(lockFile, { force: true });
  try {
    writeFileSync(lockFile, holderText([process.pid]), { flag: "wx" });
    return undefined;
  } catch {
    return livingHolder(lockFile) ?? process.pid;
  }
}

/** Adds workerd to the holders, so that the lock outlives a launcher that was killed. */
export function nameHolders(lockFile: string, pids: number[]): void {
  const unfinished = `${lockFile}.${process.pid}`;
  writeFileSync(unfinished, holderText(pids));
  renameSync(unfinished, lockFile);
}

function holderText(pids: number[]): string {
  return `${JSON.stringify({ bootId: bootId(), pids } satisfies Holder)}\n`;
}
