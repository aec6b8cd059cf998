/**
 * Runs the bundled plugin as a runtime does: a process, environment variables, stdin.
 * May import: Node. Each run is bounded; its output is kept byte for byte.
 */

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Finished {
  stdout: string;
  stderr: string;
  exitCode: number | null;
}

const RUN_MS_MAX = 120_000;

/** Runs a program to its end, or kills it after two minutes. */
export function runProgram(
  file: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; stdin?: string } = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: options.env ?? process.env,
      timeout: RUN_MS_MAX,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ stdout, stderr, exitCode }));
    // A program that ends before it has read its input closes the pipe under us.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.stdin ?? "");
  });
}

/** PATH under which `env node` finds the node that runs this test. */
export const PATH_WITH_NODE = `${dirname(process.execPath)}:${process.env.PATH ?? ""}`;

export interface BuiltPlugin {
  /** Folder that holds nothing but `edge-ipam`, fit for CNI_PATH. */
  folder: string;
  file: string;
  remove(): Promise<void>;
}

/** Bundles the plugin into a folder of its own, far from any package.json. */
export async function buildPlugin(): Promise<BuiltPlugin> {
  const folder = await mkdtemp(join(tmpdir(), "edge-ipam-cni-"));
  const file = join(folder, "edge-ipam");
  const script = fileURLToPath(new URL("../../src/cni/bundle.ts", import.meta.url));
  const built = await runProgram(process.execPath, [script, file]);
  if (built.exitCode !== 0) throw new Error(`the bundle failed: ${built.stderr}`);
  return { folder, file, remove: () => rm(folder, { recursive: true, force: true }) };
}
