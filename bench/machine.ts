/**
 * What the machine is, so that figures of two runs can be told apart.
 * May import: Node. Rule: measured or read, never assumed; nothing that names the machine or its user.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, loadavg, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { median } from "./generator/fleet.ts";

const SYNCS = 200;
const SYNC_BYTES = 4_096;

export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly workerd: string;
  /** Of 4 KiB at the end of a file where the services' data lie, the median. */
  readonly fsyncMs: number;
  /** Processes that wanted a core in the last minute, before the run began. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  const manifest = new URL(import.meta.resolve("workerd/package.json"));
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    node: process.version,
    workerd: version,
    fsyncMs: fsyncMs(),
    loadBefore: loadavg()[0] ?? Number.NaN,
  };
}

function fsyncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), "edge-ipam-fsync-"));
  try {
    const file = openSync(join(folder, "file"), "a");
    const bytes = Buffer.alloc(SYNC_BYTES, 1);
    const times = Array.from({ length: SYNCS }, () => {
      const beganAt = performance.now();
      writeSync(file, bytes);
      fdatasyncSync(file);
      return performance.now() - beganAt;
    });
    closeSync(file);
    return median(times);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In two lines of a terminal. */
export function machineText(machine: Machine): string {
  const { cores, processor, memoryGiB, kernel, node, workerd, fsyncMs: sync, loadBefore } = machine;
  return (
    `${cores} cores (${processor}), ${memoryGiB} GiB, ${kernel}\n` +
    `Node ${node}, workerd ${workerd}, fsync ${sync.toFixed(2)} ms, load before ${loadBefore.toFixed(1)}`
  );
}
