/**
 * `npm run bench -- NAME`: runs one benchmark against bare workerd on disk, over loopback.
 * May import: the benchmarks. Rule: bounded; what each measures stands at the head of its file.
 */
import { benchAllocate } from "./allocate.ts";
import { benchGc } from "./gc.ts";
import { benchScale } from "./scale.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  allocate: benchAllocate,
  gc: benchGc,
  scale: benchScale,
};

const name = process.argv[2] ?? "allocate";
const benchmark = BENCHMARKS[name];
if (benchmark === undefined) {
  console.error(`bench: unknown measurement ${name}; there is: ${Object.keys(BENCHMARKS).join(", ")}`);
  process.exitCode = 1;
} else {
  await benchmark();
}
