/** `npm run build`: the static files, the Worker's bundle and the CNI plugin, all in dist/. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { bundleProgram, bundleWorker, deployedEntry, repositoryRoot } from "./bundle.ts";
import { writePublicFiles } from "./public-files.ts";

/** The bundle that is deployed. */
export const workerBundle = resolve(repositoryRoot, "dist/worker/index.js");

/** Programs of our own that become one executable file each. */
const programs = [{ entry: "src/cni/main.ts", outfile: "dist/edge-ipam" }];

/** Builds everything that is handed out. */
export async function buildAll(): Promise<void> {
  writePublicFiles();
  await bundleWorker(deployedEntry, workerBundle);
  for (const { entry, outfile } of programs) {
    if (existsSync(resolve(repositoryRoot, entry))) {
      await bundleProgram(resolve(repositoryRoot, entry), resolve(repositoryRoot, outfile));
    }
  }
}

if (import.meta.main) {
  await buildAll();
}
