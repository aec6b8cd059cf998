/**
 * One run of the plugin as a function: environment and stdin in, stdout, stderr and exit code out.
 * May import: core, cni. stdout carries a CNI document or nothing.
 */

import { err, type Result } from "../core/result.ts";
import { renderFailure, renderVersion } from "./cni-result.ts";
import { add, del, type Machine } from "./commands.ts";
import { type Environment, readAttachment } from "./environment.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure } from "./failure.ts";
import { readNetconf, SUPPORTED_VERSIONS, versionOf } from "./netconf.ts";

export interface Invocation extends Machine {
  readonly env: Environment;
  /** Reads stdin to its end; `undefined` if it cannot be read. Called at most once. */
  readonly readStdin: () => Promise<string | undefined>;
}

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: 0 | 1;
}

/** Runs the command that CNI_COMMAND names; without one it says what it is, on stderr. */
export async function run(invocation: Invocation): Promise<Outcome> {
  const command = invocation.env.CNI_COMMAND ?? "";
  if (command === "") {
    const about = `edge-ipam: a CNI IPAM plugin; CNI versions ${SUPPORTED_VERSIONS.join(", ")}\n`;
    return { stdout: "", stderr: about, exitCode: 0 };
  }
  if (command === "VERSION") {
    return succeeded(renderVersion(versionOf((await invocation.readStdin()) ?? "")));
  }
  const stdin = await invocation.readStdin();
  const outcome =
    stdin === undefined
      ? err(failure(CNI.stdinUnreadable, "the configuration on stdin cannot be read"))
      : await runCommand(command, stdin, invocation);
  if (outcome.ok) return succeeded(outcome.value);
  return { stdout: renderFailure(versionOf(stdin ?? ""), outcome.error), stderr: "", exitCode: 1 };
}

async function runCommand(
  command: string,
  stdin: string,
  invocation: Invocation,
): Promise<Result<string, Failure>> {
  if (command !== "ADD" && command !== "DEL") {
    const shown = JSON.stringify(command.slice(0, 32));
    return err(failure(CNI.invalidEnvironment, `CNI_COMMAND ${shown} is not one of ADD, DEL, VERSION`));
  }
  const attachment = readAttachment(invocation.env, command);
  if (!attachment.ok) return attachment;
  const netconf = readNetconf(stdin);
  if (!netconf.ok) return netconf;
  const perform = command === "ADD" ? add : del;
  return perform(netconf.value, attachment.value, invocation);
}

function succeeded(stdout: string): Outcome {
  return { stdout, stderr: "", exitCode: 0 };
}
