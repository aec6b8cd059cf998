/**
 * Builds dist/edge-ipam, one file that node runs: `node src/cni/bundle.ts [output file]`.
 * May import: Node, esbuild. The file must run as CommonJS and as a module, wherever it is copied to.
 */

import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = new URL("../../", import.meta.url);
const outfile = process.argv[2] ?? fileURLToPath(new URL("dist/edge-ipam", root));

/** A file without extension is a module beside a package.json that says so, else CommonJS. */
const REQUIRE_IN_BOTH = "var require = typeof require === 'function' ? require : process.getBuiltinModule;";

await build({
  entryPoints: [fileURLToPath(new URL("src/cni/main.ts", root))],
  outfile,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "iife",
  banner: { js: `#!/usr/bin/env node\n${REQUIRE_IN_BOTH}` },
  legalComments: "none",
  logLevel: "warning",
});
await chmod(outfile, 0o755);
