/**
 * The service that a benchmark drives: bare workerd on a temporary folder, with the routes to compare with.
 * May import: the launcher, the load. Rule: whoever starts it ends it, and nothing stays behind.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "../src/tools/launch.ts";
import { Target } from "./load.ts";

/** In which Linux counts the time of processes. */
const TICKS_PER_SECOND = 100;
const ENTRY = new URL("entry.ts", import.meta.url).pathname;

/** Starts a service of its own for a piece of work, and ends it whatever comes. */
export async function withService(
  work: (target: Target, memory: () => number, processor: () => number) => Promise<void>,
  options: { readonly entry?: string; readonly vars?: Record<string, string> } = {},
): Promise<void> {
  const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-bench-"));
  try {
    const service = await launch({ dataFolder, port: 0, address: "127.0.0.1", entry: ENTRY, ...options });
    try {
      const target = new Target(await service.ready);
      const { pid } = service;
      const memory = () => residentMegabytes(pid);
      await work(target, memory, () => processorSeconds(pid)).finally(() => target.close());
    } finally {
      await service.stop();
    }
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

/** Memory that a process really has, MiB. */
function residentMegabytes(pid: number): number {
  const kilobytes = execFileSync("ps", ["-o", "rss=", "-p", `${pid}`], { encoding: "utf8" });
  return Number(kilobytes.trim()) / 1024;
}

/** Time of processors that a process has taken, in seconds; where it is not told, not a number. */
function processorSeconds(pid: number): number {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(afterName[11]) + Number(afterName[12])) / TICKS_PER_SECOND;
  } catch {
    return Number.NaN;
  }
}
