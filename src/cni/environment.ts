/**
 * What the runtime says in environment variables: command, container, interface, CNI_ARGS.
 * May import: core, cni. Every fault of it is CNI error 4 and names the variable.
 */

import { err, ok, type Result } from "../core/result.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure } from "./failure.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The attachment that a command is about. */
export interface Attachment {
  readonly containerId: string;
  readonly interfaceName: string;
  readonly args: CniArgs;
}

/** The keys of CNI_ARGS that mean something here; an empty value is absent. */
export interface CniArgs {
  readonly ip?: string;
  readonly podNamespace?: string;
  readonly podName?: string;
  readonly podUid?: string;
}

/** Names of networks and containers, as the CNI specification allows them. */
export const NAME_PATTERN = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const INTERFACE_PATTERN = /^[^\s/:]{1,15}$/;

/** Keys of CNI_ARGS that need no IgnoreUnknown; those without a field are read by others. */
const KNOWN_ARGS: Readonly<Record<string, keyof CniArgs | undefined>> = {
  IP: "ip",
  K8S_POD_NAMESPACE: "podNamespace",
  K8S_POD_NAME: "podName",
  K8S_POD_UID: "podUid",
  K8S_POD_INFRA_CONTAINER_ID: undefined,
};

/**
 * Reads the attachment of an ADD, a CHECK or a DEL.
 *
 * Rejects: every missing variable in one message; an ID, interface name or CNI_ARGS of bad syntax.
 * Why: CNI_PATH is not asked for, an IPAM plugin calls no other; CNI_NETNS may be gone at DEL.
 */
export function readAttachment(
  env: Environment,
  command: "ADD" | "CHECK" | "DEL",
): Result<Attachment, Failure> {
  const needed = ["CNI_CONTAINERID", "CNI_IFNAME", ...(command === "DEL" ? [] : ["CNI_NETNS"])];
  const missing = needed.filter((name) => (env[name] ?? "") === "");
  if (missing.length > 0) return invalid(`required environment variables missing: ${missing.join(", ")}`);

  const containerId = env.CNI_CONTAINERID ?? "";
  if (!NAME_PATTERN.test(containerId)) {
    return invalid(
      "CNI_CONTAINERID must start with a letter or digit and hold letters, digits, '_', '.', '-'",
    );
  }
  const interfaceName = env.CNI_IFNAME ?? "";
  if (!INTERFACE_PATTERN.test(interfaceName) || interfaceName === "." || interfaceName === "..") {
    return invalid("CNI_IFNAME must be 1 to 15 characters without '/', ':' and white space, not '.' or '..'");
  }
  const args = readArgs(env.CNI_ARGS ?? "");
  return args.ok ? ok({ containerId, interfaceName, args: args.value }) : args;
}

/** Reads `KEY=VALUE;KEY=VALUE`; keys are case-sensitive and unknown ones need IgnoreUnknown. */
function readArgs(text: string): Result<CniArgs, Failure> {
  if (text === "") return ok({});
  const pairs: [string, string][] = [];
  for (const element of text.split(";")) {
    const [key = "", value, ...rest] = element.split("=");
    if (key === "" || value === undefined || rest.length > 0) {
      return invalid("CNI_ARGS must be KEY=VALUE pairs separated by ';', each with exactly one '='");
    }
    pairs.push([key, value]);
  }
  const ignoreText = pairs.findLast(([key]) => key === "IgnoreUnknown")?.[1].toLowerCase() ?? "false";
  if (!["1", "0", "true", "false"].includes(ignoreText)) {
    return invalid("CNI_ARGS IgnoreUnknown must be 1, 0, true or false");
  }
  const isIgnoring = ignoreText === "1" || ignoreText === "true";
  const args: { -readonly [K in keyof CniArgs]: CniArgs[K] } = {};
  for (const [key, value] of pairs) {
    if (key === "IgnoreUnknown") continue;
    if (!Object.hasOwn(KNOWN_ARGS, key)) {
      if (isIgnoring) continue;
      return invalid(
        `CNI_ARGS has the unknown key ${JSON.stringify(key)}; add IgnoreUnknown=1 or leave it out`,
      );
    }
    const field = KNOWN_ARGS[key];
    if (field !== undefined && value !== "") args[field] = value;
  }
  return ok(args);
}

function invalid(msg: string): { readonly ok: false; readonly error: Failure } {
  return err(failure(CNI.invalidEnvironment, msg));
}
