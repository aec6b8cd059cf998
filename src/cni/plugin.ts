/**
 * One run of the plugin as a function: environment and stdin in, stdout, stderr and exit code out.
 * May import: core, cni. stdout carries a CNI document or nothing.
 */
import { err, type Result } from "../core/result.ts";
import { add } from "./add.ts";
import { check } from "./check.ts";
import { renderFailure, renderVersion } from "./cni-result.ts";
import { del } from "./del.ts";
import { type Attachment, type Environment, readAttachment } from "./environment.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure } from "./failure.ts";
import { gc } from "./gc.ts";
import type { Machine } from "./machine.ts";
import { type Netconf, readNetconf, SUPPORTED_VERSIONS, versionOf } from "./netconf.ts";
import { status } from "./status.ts";

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

type Performed = Promise<Result<string, Failure>>;

/** Commands about one attachment. */
const OF_ATTACHMENT = { ADD: add, CHECK: check, DEL: del } satisfies Record<
  string,
  (netconf: Netconf, attachment: Attachment, machine: Machine) => Performed
>;
/** Commands about the network; the specification has them since 1.1.0. */
const OF_NETWORK = { GC: gc, STATUS: status } satisfies Record<
  string,
  (netconf: Netconf, machine: Machine) => Performed
>;

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
      ? err(failure(CNI.unreadable, "the configuration on stdin cannot be read"))
      : await runCommand(command, stdin, invocation);
  if (outcome.ok) return succeeded(outcome.value);
  return { stdout: renderFailure(versionOf(stdin ?? ""), outcome.error), stderr: "", exitCode: 1 };
}

async function runCommand(command: string, stdin: string, invocation: Invocation): Performed {
  if (isKeyOf(OF_NETWORK, command)) {
    const netconf = readNetconf(stdin);
    if (!netconf.ok) return netconf;
    if (netconf.value.cniVersion !== "1.1.0") return tooOld(command, netconf.value);
    return OF_NETWORK[command](netconf.value, invocation);
  }
  if (isKeyOf(OF_ATTACHMENT, command)) {
    const attachment = readAttachment(invocation.env, command);
    if (!attachment.ok) return attachment;
    const netconf = readNetconf(stdin);
    if (!netconf.ok) return netconf;
    return OF_ATTACHMENT[command](netconf.value, attachment.value, invocation);
  }
  const known = ["VERSION", ...Object.keys(OF_ATTACHMENT), ...Object.keys(OF_NETWORK)].sort().join(", ");
  const shown = JSON.stringify(command.slice(0, 32));
  return err(failure(CNI.invalidEnvironment, `CNI_COMMAND ${shown} is not one of ${known}`));
}

function tooOld(command: string, { cniVersion }: Netconf): Result<never, Failure> {
  const details = `configuration: ${cniVersion}; ${command} needs 1.1.0`;
  return err(failure(CNI.incompatibleVersion, "incompatible CNI versions", details));
}

function isKeyOf<T extends object>(table: T, key: string): key is Extract<keyof T, string> {
  return Object.hasOwn(table, key);
}

function succeeded(stdout: string): Outcome {
  return { stdout, stderr: "", exitCode: 0 };
}
