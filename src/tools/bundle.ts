/**
 * Bundles a Worker entry file into one module, and Node programs into one executable file.
 * The Worker bundle must equal that of `wrangler deploy`: `npm run check` compares the two.
 */
import { chmod, mkdir, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";

/** The folder of the repository, without a slash at its end. */
export const repositoryRoot = resolve(import.meta.dirname, "../..");

/** The entry file that is deployed. */
export const deployedEntry = resolve(repositoryRoot, "src/index.ts");

/**
 * Bundles a Worker entry file into one ES module.
 *
 * Why: esbuild with wrangler's own settings gives the same bytes as `wrangler deploy --dry-run`
 * in a tenth of the time (0.2 s against 2.2 s), and a start should not wait for a tool.
 */
export async function bundleWorker(entry: string, outfile: string): Promise<void> {
  await bundle(entry, outfile, {
    target: "es2024",
    supported: { "import-source": true, using: true },
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    keepNames: true,
    define: {
      "process.env.NODE_ENV": '"production"',
      "navigator.userAgent": '"Cloudflare-Workers"',
    },
  });
}

/** Bundles a Node program into one file that can be executed (Node 20 or newer). */
export async function bundleProgram(entry: string, outfile: string): Promise<void> {
  await bundle(entry, outfile, {
    target: "node20",
    platform: "node",
    banner: { js: "#!/usr/bin/env node" },
    mode: 0o755,
  });
}

/** Writes beside the target and renames, so that a reader never sees half a file. */
async function bundle(
  entry: string,
  outfile: string,
  { mode, ...options }: BuildOptions & { mode?: number },
): Promise<void> {
  const unfinished = `${outfile}.${process.pid}`;
  await mkdir(dirname(outfile), { recursive: true });
  await build({
    ...options,
    absWorkingDir: repositoryRoot,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    outfile: unfinished,
    logLevel: "warning",
  });
  if (mode !== undefined) {
    await chmod(unfinished, mode);
  }
  await rename(unfinished, outfile);
}
