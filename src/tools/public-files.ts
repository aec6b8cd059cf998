/**
 * Has the static files written that the service hands out: the API document, the docs page, error pages.
 * They stay out of the Worker's bundle, because every object's isolate loads the bundle.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { repositoryRoot } from "./bundle.ts";

/** Where the static files are: bound as ASSETS on both runtimes. */
export const publicFolder = resolve(repositoryRoot, "dist/public");

/** Writes openapi.yaml and the static files, by running their generator as its own program. */
export function writePublicFiles(): void {
  mkdirSync(publicFolder, { recursive: true });
  const generator = resolve(repositoryRoot, "src/tools/openapi.ts");
  if (!existsSync(generator)) {
    return;
  }
  const { status } = spawnSync(process.execPath, [generator], {
    cwd: repositoryRoot,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) {
    throw new Error(`${generator} ended with ${status}`);
  }
}
