/** `npm run build` says what it has written, and it is there. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot } from "../../src/tools/bundle.ts";

it("names the files that it has written, each with what it is", () => {
  const program = resolve(repositoryRoot, "src/tools/build.ts");
  const { status, stdout } = spawnSync(process.execPath, [program], {
    cwd: repositoryRoot,
    encoding: "utf8",
  });
  expect(status).toBe(0);
  const written = stdout.trim().split("\n");
  expect(written.map((line) => line.split(/ {2,}/)[1])).toEqual([
    "the Worker",
    "its static pages",
    "the CNI plugin",
  ]);
  for (const line of written)
    expect(existsSync(resolve(repositoryRoot, line.split(" ")[0] ?? ""))).toBe(true);
});
