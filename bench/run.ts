/**
 * `npm run bench -- NAME`: runs one benchmark against bare workerd on disk, over loopback.
 * May import: the benchmarks, the launcher. Rule: bounded, and nothing stays behind.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Launched, launch } from "../src/tools/launch.ts";
import { benchAllocate } from "./allocate.ts";
import { Target } from "./load.ts";

const BENCHMARKS: Readonly<Record<string, (target: Target, service: Launched) => Promise<void>>> = {
  allocate: benchAllocate,
};

const name = process.argv[2] ?? "allocate";
const benchmark = BENCHMARKS[name];
if (benchmark === undefined) {
  console.error(`bench: unknown measurement ${name}; there is: ${Object.keys(BENCHMARKS).join(", ")}`);
  process.exit(1);
}
const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-bench-"));
const entry = new URL("entry.ts", import.meta.url).pathname;
const service = await launch({ dataFolder, port: 0, address: "127.0.0.1", entry });
const target = new Target(await service.ready);
try {
  await benchmark(target, service);
} finally {
  target.close();
  await service.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
