/** Runs the programs of node_modules for the scripts of package.json, without sending usage figures. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { repositoryRoot } from "./bundle.ts";

const bin = resolve(repositoryRoot, "node_modules/.bin");

export interface Run {
  status: number;
  /** What it printed, when it was captured. */
  output: string;
}

/** Runs a program at the root of the repository; `capture` keeps its output instead of showing it. */
export function run(program: string, args: string[], { capture = false } = {}): Promise<Run> {
  return new Promise((settle, fail) => {
    const child = spawn(program, args, {
      cwd: repositoryRoot,
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, WRANGLER_SEND_METRICS: "false" },
      stdio: capture ? ["ignore", "pipe", "pipe"] : "inherit",
    });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
    child.once("error", fail);
    child.once("close", (code) => settle({ status: code ?? 1, output }));
  });
}
