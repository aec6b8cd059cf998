/**
 * Who calls: static bearer tokens kept as SHA-256 hashes, or nobody where AUTH_MODE=none says so.
 * May import: core. No token and no hash of one, as configured or as shown, reaches an answer or a log.
 */
import { type Rejection, rejection } from "../core/errors.ts";
import { HOST_NAME_PATTERN } from "../core/limits.ts";
import { err, ok, type Result } from "../core/result.ts";

export type Role = "admin" | "reader" | "agent";

/** Who a request comes from. Invariant: an agent has a host. */
export interface Principal {
  /** As it stands in updatedBy, e.g. `token:ops`. */
  readonly subject: string;
  readonly role: Role;
  readonly host?: string;
  /** How the caller was recognised. JWTs of an issuer will be `jwt`. */
  readonly method: "token" | "none";
}

/** What the deployment says about credentials. */
export interface AuthSettings {
  /** `none` lets everybody in as administrator; only the local start on loopback sets it. */
  readonly mode?: string;
  /** The secret IPAM_TOKENS: a JSON list of {name, sha256, role, host?}. */
  readonly tokens?: string;
}

export type AuthFault = Rejection<"auth_not_configured" | "not_authenticated" | "token_invalid">;

/** Recognises callers by their Authorization header. */
export interface Authenticator {
  /** Whether anybody can be let in at all. */
  readonly isConfigured: boolean;
  authenticate(authorization: string | null): Promise<Result<Principal, AuthFault>>;
}

interface Credential {
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

const ANONYMOUS: Principal = { subject: "anonymous", role: "admin", method: "none" };
const ROLES: readonly Role[] = ["admin", "reader", "agent"];

/** Makes the authenticator of a deployment; a list that cannot be read lets nobody in. */
export function createAuthenticator(settings: AuthSettings): Authenticator {
  if (settings.mode === "none") {
    return { isConfigured: true, authenticate: async () => ok(ANONYMOUS) };
  }
  const credentials = readCredentials(settings.tokens ?? "");
  if (!credentials.ok) {
    return { isConfigured: false, authenticate: async () => err(rejection("auth_not_configured", {})) };
  }
  return { isConfigured: true, authenticate: (header) => recognise(credentials.value, header) };
}

async function recognise(
  credentials: readonly Credential[],
  authorization: string | null,
): Promise<Result<Principal, AuthFault>> {
  const token = /^bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
  if (token === undefined) {
    const isAbsent = authorization === null || authorization.trim() === "";
    return err(isAbsent ? rejection("not_authenticated", {}) : rejection("token_invalid", {}));
  }
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  let found: Principal | undefined;
  for (const credential of credentials) if (sameBytes(credential.hash, hash)) found = credential.principal;
  return found === undefined ? err(rejection("token_invalid", {})) : ok(found);
}

/** Compares in a time that does not depend on where the bytes differ. */
function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let i = 0; i < one.length; i += 1) difference |= (one[i] ?? 0) ^ (other[i] ?? 0);
  return difference === 0;
}

/**
 * Says what keeps a list from being sound, and of which entry; undefined where it is sound.
 * Shape: it names fields and never holds what they hold, for a start that a person looks at.
 */
export function faultOfTokens(text: string): string | undefined {
  const read = readCredentials(text);
  return read.ok ? undefined : read.error;
}

/** Reads the secret. Rejects: no list, an empty one, or one with any entry that is not whole. */
function readCredentials(text: string): Result<readonly Credential[], string> {
  if (text.trim() === "") return err("it is empty");
  let listed: unknown;
  try {
    listed = JSON.parse(text);
  } catch {
    return err("it is no JSON");
  }
  if (!Array.isArray(listed)) return err("it is no JSON list");
  if (listed.length === 0) return err("the list is empty");
  const credentials: Credential[] = [];
  for (const [at, entry] of listed.entries()) {
    const read = readCredential(entry);
    if (!read.ok) return err(`entry ${at + 1}: ${read.error}`);
    credentials.push(read.value);
  }
  return ok(credentials);
}

function readCredential(entry: unknown): Result<Credential, string> {
  if (typeof entry !== "object" || entry === null) return err("no object");
  const { name, sha256, role, host } = entry as Record<string, unknown>;
  if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
    return err("name must be letters, digits and . _ -, 63 at most");
  }
  if (typeof sha256 !== "string" || !/^[0-9a-fA-F]{64}$/.test(sha256)) {
    return err("sha256 must be 64 hexadecimal digits");
  }
  const known = ROLES.find((one) => one === role);
  if (known === undefined) return err(`role must be one of ${ROLES.join(", ")}`);
  const hash = Uint8Array.from({ length: 32 }, (_, i) => Number.parseInt(sha256.slice(2 * i, 2 * i + 2), 16));
  const subject = `token:${name}`;
  if (known !== "agent") {
    if (host !== undefined) return err("host goes with the role agent only");
    return ok({ hash, principal: { subject, role: known, method: "token" } });
  }
  if (typeof host !== "string" || !HOST_NAME_PATTERN.test(host))
    return err("an agent needs the name of a host");
  return ok({ hash, principal: { subject, role: known, host, method: "token" } });
}
