/** `npm test`: builds, runs all test projects (or those named) and ends with the summary line. */
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { buildAll } from "./build.ts";
import { repositoryRoot } from "./bundle.ts";
import { printSummary } from "./ci-summary.ts";
import { run } from "./run.ts";

await buildAll();
rmSync(resolve(repositoryRoot, "reports"), { recursive: true, force: true });
const { status } = await run("vitest", ["run", ...process.argv.slice(2)]);
const summaryStatus = printSummary();
process.exitCode = status || summaryStatus;
