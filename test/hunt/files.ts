/** Which tests draw at random: those that import fast-check or the seeds. May import: node. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = "{core,contract,client,platform,simulation}";
const DRAWS = /^(?:import|\}).* from "(?:fast-check|[./]+\/support\/seeds\.ts)";$/m;

/** Returns the random tests of the unit and simulation projects, by their paths from the root. */
export function randomTests(root: string): string[] {
  const paths = globSync(`test/${FOLDERS}/**/*.test.ts`, { cwd: root });
  return paths.filter((path) => DRAWS.test(readFileSync(join(root, path), "utf8"))).toSorted();
}
