/**
 * What a command needs of the machine besides its input, and the connection made of it.
 * May import: core, client, cni. A token reaches the request and nothing else.
 */

import { type Client, createClient } from "../client/client.ts";
import { err, ok, type Result } from "../core/result.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure } from "./failure.ts";
import { isHostName, isToken, type Netconf } from "./netconf.ts";

export interface Machine {
  readonly hostname: () => string;
  readonly fetch: typeof fetch;
  /** Reads a small regular file; a failure is a short reason without the file's content. */
  readonly readSmallFile: (path: string) => Promise<Result<string, string>>;
}

/**
 * Binds the service's operations to what the configuration says.
 *
 * Rejects: 5 for a token file that cannot be read, 7 for one without a token; both name the path only.
 * Why: the file is read at each call, because whoever rotates the token does not tell.
 */
export async function connect(
  netconf: Netconf,
  machine: Machine,
  timeoutMs = netconf.timeoutMs,
): Promise<Result<Client, Failure>> {
  const token = await tokenOf(netconf, machine);
  if (!token.ok) return token;
  return ok(
    createClient({
      server: netconf.server,
      timeoutMs,
      fetch: machine.fetch,
      ...(token.value === undefined ? {} : { token: token.value }),
    }),
  );
}

/** Finds the name under which this machine is registered. */
export function hostOf(netconf: Netconf, machine: Machine): Result<string, Failure> {
  const host = netconf.host ?? machine.hostname().trim().toLowerCase();
  if (isHostName(host)) return ok(host);
  const msg = "invalid configuration: ipam.host is absent and the machine has no name";
  return err(failure(CNI.invalidConfiguration, msg));
}

async function tokenOf(netconf: Netconf, machine: Machine): Promise<Result<string | undefined, Failure>> {
  const { token, tokenFile } = netconf;
  if (tokenFile === undefined) return ok(token);
  const read = await machine.readSmallFile(tokenFile);
  const shown = JSON.stringify(tokenFile);
  if (!read.ok) {
    const msg = `token_file_unreadable (${CNI.unreadable}): ipam.tokenFile ${shown} cannot be read (${read.error}).`;
    return err(failure(CNI.unreadable, `${msg} Next: put the token there, readable for the runtime.`));
  }
  const text = read.value.trim();
  if (isToken(text)) return ok(text);
  return err(
    failure(
      CNI.invalidConfiguration,
      `invalid configuration: ipam.tokenFile ${shown} must hold one token of visible ASCII characters`,
    ),
  );
}
