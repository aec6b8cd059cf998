/**
 * Bundles a Worker entry file into one module, for bare workerd.
 * The bundle must equal that of `wrangler deploy`: `npm run check` compares the two.
 */
import { mkdir, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { build } from "esbuild";

/** The folder of the repository, without a slash at its end. */
export const repositoryRoot = resolve(import.meta.dirname, "../..");

/** The entry file that is deployed. */
export const deployedEntry = resolve(repositoryRoot, "src/index.ts");

/**
 * Bundles a Worker entry file into one ES module.
 *
 * Invariant: written beside the target and renamed, so that a reader never sees half a file.
 * Why: esbuild with wrangler's own settings gives the same bytes as `wrangler deploy --dry-run`
 * in a tenth of the time (0.2 s against 2.2 s), and a start should not wait for a tool.
 */
export async function bundleWorker(entry: string, outfile: string): Promise<void> {
  const unfinished = `${outfile}.${process.pid}`;
  await mkdir(dirname(outfile), { recursive: true });
  await build({
    absWorkingDir: repositoryRoot,
    entryPoints: [entry],
    outfile: unfinished,
    bundle: true,
    format: "esm",
    target: "es2024",
    supported: { "import-source": true, using: true },
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    keepNames: true,
    define: {
      "process.env.NODE_ENV": '"production"',
      "navigator.userAgent": '"Cloudflare-Workers"',
    },
    logLevel: "warning",
  });
  await rename(unfinished, outfile);
}
