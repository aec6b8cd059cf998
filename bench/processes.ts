/**
 * What processes of this machine take: time of processors, memory.
 * May import: Node. Rule: where the machine does not tell, it is not a number, and nothing fails.
 */
import { readFileSync } from "node:fs";

/** In which Linux counts the time of processes. */
const TICKS_PER_SECOND = 100;

/** Time of processors that processes have taken, in seconds; one that has gone counts nothing. */
export function processorSeconds(pids: readonly number[]): number {
  return sumOf(pids, (pid) => {
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(afterName[11]) + Number(afterName[12])) / TICKS_PER_SECOND;
  });
}

/** Memory that processes really have, MiB. */
export function residentMegabytes(pids: readonly number[]): number {
  return sumOf(pids, (pid) => {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kilobytes) / 1024;
  });
}

/**
 * Memory of processes that share some of it, MiB: what several use is counted in parts.
 * Why: each process of a database maps all of its buffers.
 */
export function proportionalMegabytes(pids: readonly number[]): number {
  return sumOf(pids, (pid) => {
    const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
    return Number(kilobytes) / 1024;
  });
}

function sumOf(pids: readonly number[], read: (pid: number) => number): number {
  let sum = Number.NaN;
  for (const pid of pids) {
    try {
      const one = read(pid);
      sum = Number.isNaN(sum) ? one : sum + one;
    } catch {
      // It has ended, or this is no Linux.
    }
  }
  return sum;
}
