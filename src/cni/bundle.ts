/**
 * Builds dist/edge-ipam, one file that node runs: `node src/cni/bundle.ts [output file]`.
 * May import: Node, esbuild. The file must run as CommonJS and as a module, wherever it is copied to.
 */

import { chmod, rename } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A file without extension is a module beside a package.json that says so, else CommonJS. */
const REQUIRE_IN_BOTH = "var require = typeof require === 'function' ? require : process.getBuiltinModule;";

/**
 * Bundles the plugin into one executable file.
 *
 * Invariant: written beside the target and renamed, so that a runtime never starts half a file.
 */
export async function bundlePlugin(outfile: string): Promise<void> {
  const unfinished = `${outfile}.${process.pid}`;
  await build({
    entryPoints: [fileOf("main.ts")],
    outfile: unfinished,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "iife",
    banner: { js: `#!/usr/bin/env node\n${REQUIRE_IN_BOTH}` },
    legalComments: "none",
    logLevel: "warning",
  });
  await chmod(unfinished, 0o755);
  await rename(unfinished, outfile);
}

if (import.meta.main) await bundlePlugin(process.argv[2] ?? fileOf("../../dist/edge-ipam"));
