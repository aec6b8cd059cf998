/** `npm run build`: the static files, the Worker's bundle and the CNI plugin, all in dist/. */
import { relative, resolve } from "node:path";
import { bundleWorker, deployedEntry, repositoryRoot } from "./bundle.ts";
import { publicFolder, writePublicFiles } from "./public-files.ts";
import { run } from "./run.ts";

/** The bundle that is deployed. */
export const workerBundle = resolve(repositoryRoot, "dist/worker/index.js");

/** Builds everything that is handed out. */
export async function buildAll(): Promise<void> {
  writePublicFiles();
  await bundleWorker(deployedEntry, workerBundle);
  const { status } = await run("node", ["src/cni/bundle.ts"]);
  if (status !== 0) {
    throw new Error("the CNI plugin could not be bundled");
  }
}

if (import.meta.main) {
  await buildAll();
  const here = (path: string): string => relative(process.cwd(), resolve(repositoryRoot, path));
  console.log(
    [
      `${here(workerBundle)}   the Worker`,
      `${here(publicFolder)}            its static pages`,
      `${here("dist/edge-ipam")}         the CNI plugin`,
    ].join("\n"),
  );
}
