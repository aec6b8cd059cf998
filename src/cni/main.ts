/**
 * Entry of the bundled plugin: ties the process to plugin.ts.
 * May import: core, cni, Node. A defect still ends in a CNI error object; its stack goes to stderr.
 */

import { readFile, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { err, ok, type Result } from "../core/result.ts";
import { renderFailure } from "./cni-result.ts";
import { CNI } from "./error-codes.ts";
import { failure } from "./failure.ts";
import { NEWEST_VERSION } from "./netconf.ts";
import { type Outcome, run } from "./plugin.ts";

/** Characters of configuration that are read; a real one has a few thousand. */
const STDIN_CHARACTERS_MAX = 1_048_576;
/** Bytes of a token file; a JWT has one or two thousand. */
const SMALL_FILE_BYTES_MAX = 65_536;

async function readStdin(): Promise<string | undefined> {
  if (process.stdin.isTTY) return "";
  let text = "";
  try {
    process.stdin.setEncoding("utf8");
    for await (const chunk of process.stdin) {
      text += String(chunk);
      if (text.length > STDIN_CHARACTERS_MAX) return undefined;
    }
    return text;
  } catch {
    return undefined;
  }
}

/** A path that is no regular file, such as a pipe, could keep the runtime waiting for ever. */
async function readSmallFile(path: string): Promise<Result<string, string>> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return err("not a file");
    if (found.size > SMALL_FILE_BYTES_MAX) return err(`more than ${SMALL_FILE_BYTES_MAX} bytes`);
    return ok(await readFile(path, "utf8"));
  } catch (thrown) {
    return err(thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown failure");
  }
}

function defect(thrown: unknown): Outcome {
  const stderr = `${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`;
  const report = failure(
    CNI.defect,
    `plugin_defect (${CNI.defect}): the plugin failed. Next: report what stderr says.`,
  );
  return { stdout: renderFailure(NEWEST_VERSION, report), stderr, exitCode: 1 };
}

/** Nothing may follow the document on stdout, and no idle connection may keep the runtime waiting. */
async function main(): Promise<void> {
  const outcome = await run({ env: process.env, readStdin, readSmallFile, hostname, fetch }).catch(defect);
  process.stderr.write(outcome.stderr);
  process.stdout.write(outcome.stdout, () => process.exit(outcome.exitCode));
}

void main();
