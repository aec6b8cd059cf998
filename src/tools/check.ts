/**
 * `npm run check`: everything that can be said about the code without running the service.
 * Runs all checks and then says which failed; `--write-types` writes src/env.d.ts instead.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAll, workerBundle } from "./build.ts";
import { run } from "./run.ts";

/** One per set of globals: worker, pure, Node, tests in Node, tests in workerd, both. */
const compilations = [".", "src/core", "src/tools", "test", "test/objects", "test/simulation"];

const writeTypes = ["types", "src/env.d.ts", "--include-runtime=false", "--strict-vars=false"];

/** esbuild writes the path of each module before its code. */
const modulePattern = /^\/\/ (\S+\.[jt]sx?)$/gm;

type Check = () => Promise<string | undefined>;

function program(name: string, ...args: string[]): Check {
  return async () => {
    const { status, output } = await run(name, args, { capture: true });
    return status === 0 ? undefined : output.trim() || `ended with ${status}`;
  };
}

const checks: Record<string, Check> = {
  ...Object.fromEntries(compilations.map((path) => [`types ${path}`, program("tsc", "-p", path)])),
  "lint and format": program("biome", "ci", "--colors=off", "."),
  "openapi.yaml is what the routes say": program("node", "src/tools/openapi.ts", "--check"),
  "generated types are what openapi.yaml says": program("node", "test/support/api/write-types.ts", "--check"),
  "src/env.d.ts is what wrangler.toml says": program("wrangler", ...writeTypes, "--check"),
  "wrangler deploy --dry-run": checkDeployment,
};

/** The deployment is accepted, equals our own bundle, and holds nothing that is for tests only. */
async function checkDeployment(): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "edge-ipam-deploy-"));
  try {
    await buildAll();
    const { status, output } = await run("wrangler", ["deploy", "--dry-run", "--outdir", folder], {
      capture: true,
    });
    if (status !== 0) {
      return output.trim();
    }
    const deployed = withoutSourceMap(readFileSync(join(folder, "index.js"), "utf8"));
    if (deployed !== withoutSourceMap(readFileSync(workerBundle, "utf8"))) {
      return "the bundle of src/tools/bundle.ts differs from wrangler's: bring its settings in line";
    }
    const modules = [...deployed.matchAll(modulePattern)].map(([, path = ""]) => path);
    const foreign = modules.filter((path) => !/^(src|durable-objects|node_modules)\//.test(path));
    if (!modules.includes("src/index.ts") || foreign.length > 0) {
      return `the bundle must hold src/index.ts and no module such as ${foreign.join(", ") || "none"}`;
    }
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function withoutSourceMap(code: string): string {
  return code.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n");
}

async function checkAll(): Promise<number> {
  const failed: string[] = [];
  for (const [name, check] of Object.entries(checks)) {
    const complaint = await check();
    console.log(`${complaint === undefined ? "ok  " : "FAIL"} ${name}`);
    if (complaint !== undefined) {
      failed.push(name);
      console.log(complaint.replace(/^/gm, "     "));
    }
  }
  console.log(failed.length === 0 ? "all checks passed" : `failed: ${failed.join("; ")}`);
  return failed.length === 0 ? 0 : 1;
}

if (process.argv.includes("--write-types")) {
  process.exitCode = (await run("wrangler", writeTypes)).status;
} else {
  process.exitCode = await checkAll();
}
