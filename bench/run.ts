/**
 * `npm run bench`: the whole comparison; `npm run bench -- NAME`: another benchmark, on bare workerd on disk.
 * May import: the benchmarks. Rule: bounded; what each measures stands at the head of its file.
 */
import { benchAllocate, benchCompare } from "./compare/command.ts";
import { benchGc } from "./gc.ts";
import { benchScale } from "./scale.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<boolean>>> = {
  compare: benchCompare,
  allocate: benchAllocate,
  gc: benchGc,
  scale: benchScale,
};

const name = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? "compare";
const benchmark = BENCHMARKS[name];
if (benchmark === undefined) {
  console.error(`bench: unknown measurement ${name}; there is: ${Object.keys(BENCHMARKS).join(", ")}`);
  process.exitCode = 1;
} else {
  const isGood = await benchmark().catch((error: unknown) => {
    console.error("bench:", error);
    return false;
  });
  if (!isGood) process.exitCode = 1;
}
