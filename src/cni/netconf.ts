/**
 * The network configuration on stdin, as far as this plugin reads it.
 * May import: core, cni. Faults are named by field; values are never repeated, they may be secrets.
 */
import { err, ok, type Result } from "../core/result.ts";
import { NAME_PATTERN } from "./environment.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure } from "./failure.ts";

/** Versions of the CNI specification that this plugin speaks. */
export const SUPPORTED_VERSIONS = ["0.4.0", "1.0.0", "1.1.0"] as const;
export type CniVersion = (typeof SUPPORTED_VERSIONS)[number];
export const NEWEST_VERSION: CniVersion = "1.1.0";

export interface Route {
  readonly dst: string;
  readonly gw?: string;
}

export interface Netconf {
  readonly cniVersion: CniVersion;
  readonly network: string;
  readonly server: string;
  readonly token?: string;
  /** Absolute path of a file that holds the token; never beside `token`. */
  readonly tokenFile?: string;
  readonly host?: string;
  /** Families to ask for, each with the pools to take from (empty: any that fits). */
  readonly families: { readonly ipv4?: readonly string[]; readonly ipv6?: readonly string[] };
  /** `host` narrows to /32 and /128, `answer` keeps the prefix of the answer. */
  readonly prefix: "host" | "answer";
  readonly timeoutMs: number;
  /** Passed on into the result. */
  readonly routes: readonly Route[];
  /** True if the runtime asks for an exact address, in a way this version does not serve. */
  readonly asksForAddress: boolean;
  /** What ADD printed, in the main plugin's words; unread, because only CHECK needs it. */
  readonly prevResult?: unknown;
  /** What the runtime calls valid, in its own words; unread, because only GC needs it. */
  readonly validAttachments?: unknown;
}

/** Where a runtime lists the attachments that are still valid. Source: CNI specification 1.1.0, section 2, GC. */
export const VALID_ATTACHMENTS = "cni.dev/valid-attachments";

export type Fields = Readonly<Record<string, unknown>>;
/** What `ipam` says, besides what stands around it. */
type Ipam = Omit<Netconf, "cniVersion" | "network" | "asksForAddress" | "prevResult" | "validAttachments">;

const HOST_PATTERN = /^(virtual:)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const HOST_CHARACTERS_MAX = 253;
const TIMEOUT_MS_DEFAULT = 30_000;
/** The service's own bound on X-Request-Timeout-Ms. */
const TIMEOUT_MS_MAX = 120_000;

/** Reads the version that an error object should repeat, however broken the rest is. */
export function versionOf(stdin: string): string {
  const parsed = parseJson(stdin);
  const version = isFields(parsed) ? parsed.cniVersion : undefined;
  return typeof version === "string" && version !== "" ? version : NEWEST_VERSION;
}

/**
 * Reads and checks the configuration.
 *
 * Rejects: 6 if it is not a JSON object, 1 if the version is not ours, 7 for a field, which it names.
 * Why: unknown fields are passed over, because runtimes and main plugins add their own.
 */
export function readNetconf(stdin: string): Result<Netconf, Failure> {
  const parsed = parseJson(stdin);
  if (!isFields(parsed))
    return err(failure(CNI.undecodable, "the configuration on stdin is not a JSON object"));
  const network = parsed.name;
  if (typeof network !== "string" || !NAME_PATTERN.test(network)) {
    return invalid("name", "must start with a letter or digit and hold letters, digits, '_', '.', '-'");
  }
  const version = parsed.cniVersion ?? "0.1.0";
  const cniVersion = SUPPORTED_VERSIONS.find((supported) => supported === version);
  if (cniVersion === undefined) {
    const asked = typeof version === "string" ? version : "not a string";
    return err(
      failure(
        CNI.incompatibleVersion,
        "incompatible CNI versions",
        `configuration: ${asked.slice(0, 32)}; plugin: ${SUPPORTED_VERSIONS.join(", ")}`,
      ),
    );
  }
  if (!isFields(parsed.ipam)) return invalid("ipam", "must be an object");
  const ipam = readIpam(parsed.ipam);
  if (!ipam.ok) return ipam;
  const { prevResult, [VALID_ATTACHMENTS]: validAttachments } = parsed;
  const unread = { prevResult, validAttachments };
  return ok({ cniVersion, network, asksForAddress: hasAddresses(parsed), ...unread, ...ipam.value });
}

function readIpam(ipam: Fields): Result<Ipam, Failure> {
  const { host, prefix, timeoutMs = TIMEOUT_MS_DEFAULT } = ipam;
  if (typeof ipam.server !== "string" || !isServerUrl(ipam.server)) {
    return invalid("ipam.server", "must be an http or https URL without user name, query and fragment");
  }
  const credential = readCredential(ipam);
  if (!credential.ok) return credential;
  if (host !== undefined && (typeof host !== "string" || !isHostName(host))) {
    return invalid(
      "ipam.host",
      "must be a host name: letters, digits, '.', '_', '-', at most 253 characters",
    );
  }
  if (prefix !== undefined && prefix !== "answer") return invalid("ipam.prefix", 'can only be "answer"');
  if (
    typeof timeoutMs !== "number" ||
    !Number.isInteger(timeoutMs) ||
    timeoutMs < 1 ||
    timeoutMs > TIMEOUT_MS_MAX
  ) {
    return invalid("ipam.timeoutMs", `must be an integer from 1 to ${TIMEOUT_MS_MAX}`);
  }
  const families = readFamilies(ipam);
  if (!families.ok) return families;
  const routes = readRoutes(ipam.routes ?? []);
  if (!routes.ok) return routes;
  return ok({
    server: ipam.server.replace(/\/+$/, ""),
    ...credential.value,
    ...(host === undefined ? {} : { host }),
    families: families.value,
    prefix: prefix ?? "host",
    timeoutMs,
    routes: routes.value,
  });
}

function readCredential(ipam: Fields): Result<Pick<Netconf, "token" | "tokenFile">, Failure> {
  const { token, tokenFile } = ipam;
  if (token !== undefined && tokenFile !== undefined) {
    return invalid("ipam.token and ipam.tokenFile", "cannot both be given");
  }
  if (tokenFile !== undefined) {
    const isPath = typeof tokenFile === "string" && tokenFile.startsWith("/") && !tokenFile.includes("\0");
    return isPath ? ok({ tokenFile }) : invalid("ipam.tokenFile", "must be an absolute path");
  }
  if (token === undefined) return ok({});
  return typeof token === "string" && isToken(token)
    ? ok({ token })
    : invalid("ipam.token", "must be visible ASCII characters");
}

function readFamilies(ipam: Fields): Result<Netconf["families"], Failure> {
  const { ipv4 = true, ipv6 = false, pools = {} } = ipam;
  if (typeof ipv4 !== "boolean") return invalid("ipam.ipv4", "must be true or false");
  if (typeof ipv6 !== "boolean") return invalid("ipam.ipv6", "must be true or false");
  if (!ipv4 && !ipv6) return invalid("ipam.ipv4 and ipam.ipv6", "cannot both be false");
  if (!isFields(pools)) return invalid("ipam.pools", "must be an object with lists ipv4 and ipv6");
  const ipv4Pools = pools.ipv4 ?? [];
  if (!isTexts(ipv4Pools)) return invalid("ipam.pools.ipv4", "must be a list of pool names or CIDRs");
  const ipv6Pools = pools.ipv6 ?? [];
  if (!isTexts(ipv6Pools)) return invalid("ipam.pools.ipv6", "must be a list of pool names or CIDRs");
  return ok({ ...(ipv4 ? { ipv4: ipv4Pools } : {}), ...(ipv6 ? { ipv6: ipv6Pools } : {}) });
}

function readRoutes(routes: unknown): Result<Route[], Failure> {
  const isSound = (route: unknown): route is Route =>
    isFields(route) &&
    typeof route.dst === "string" &&
    (route.gw === undefined || typeof route.gw === "string");
  if (!Array.isArray(routes) || !routes.every(isSound)) {
    return invalid("ipam.routes", "must be a list of objects with dst and perhaps gw");
  }
  return ok(routes);
}

/** The two conventions by which a runtime asks for exact addresses, besides CNI_ARGS. */
function hasAddresses(netconf: Fields): boolean {
  const { runtimeConfig, args } = netconf;
  const cniArgs = isFields(args) ? args.cni : undefined;
  return [runtimeConfig, cniArgs].some(
    (place) => isFields(place) && Array.isArray(place.ips) && place.ips.length > 0,
  );
}

/** Says whether a text can be sent as a bearer token. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Says whether the service would take this name for a host. */
export function isHostName(name: string): boolean {
  return name.length <= HOST_CHARACTERS_MAX && HOST_PATTERN.test(name);
}

function isServerUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string" && element !== "");
}

/** Says whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalid(field: string, rule: string): { readonly ok: false; readonly error: Failure } {
  return err(failure(CNI.invalidConfiguration, `invalid configuration: ${field} ${rule}`));
}
