/**
 * The way from bare workerd to a Kubernetes API server: address, certificates, token; from the environment.
 * May import: Node and workerd-process.ts. Rule: no token is ever written to a file or into a message.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { StartRefused } from "./workerd-process.ts";

/** What workerd has to know. */
export interface ClusterRoute {
  /** `host:port`, IPv6 hosts in brackets. */
  address: string;
  /** Absent: plain HTTP, on this machine only. */
  tls?: {
    /** Each a certificate in PEM form; none: those that browsers trust. */
    certificates: string[];
    /** The name that the server's certificate must have, where it is not that of the address. */
    serverName?: string;
  };
  /** Absolute path of the folder in which the token is a file. */
  tokenFolder?: string;
}

export interface ClusterAccess extends ClusterRoute {
  /** The value of the secret KUBERNETES_TOKEN. */
  token?: string;
  /** Text bindings for the Worker. */
  vars: Record<string, string>;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
/** What does nothing without KUBERNETES_API_URL. */
const SETTINGS = [
  "KUBERNETES_TOKEN",
  "KUBERNETES_TOKEN_FILE",
  "KUBERNETES_CA",
  "KUBERNETES_SERVER_NAME",
  "KUBERNETES_VIRTUAL_MACHINES",
  "KUBERNETES_TIMEOUT_SECONDS",
];
const ON_OFF = new Set(["on", "off"]);
const TIMEOUT_SECONDS_MAX = 30;

/** Reads KUBERNETES_API_URL and what goes with it. Rejects: `StartRefused` with the variable that is wrong. */
export function readClusterAccess(environment: NodeJS.ProcessEnv): ClusterAccess | undefined {
  const text = environment.KUBERNETES_API_URL;
  if (!text) return undefined;
  const url = readUrl(text);
  const token = readToken(environment);
  return {
    address: url.port === "" ? `${url.hostname}:${url.protocol === "https:" ? 443 : 80}` : url.host,
    ...(url.protocol === "https:" ? { tls: readTls(environment) } : {}),
    ...("folder" in token ? { tokenFolder: token.folder } : {}),
    ...("text" in token ? { token: token.text } : {}),
    vars: {
      KUBERNETES_API_URL: text,
      ...("name" in token ? { KUBERNETES_TOKEN_FILE_NAME: token.name } : {}),
      ...readOptions(environment),
    },
  };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isNear = url !== undefined && /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(url.hostname);
  const isFit = url?.protocol === "https:" || (url?.protocol === "http:" && isNear);
  const lost = `${url?.search}${url?.hash}${url?.username}${url?.password}`;
  if (url === undefined || !isFit || lost !== "") {
    throw new StartRefused(
      "KUBERNETES_API_URL must be https://host:port,\n" +
        "or http:// to this machine, without query or credentials",
    );
  }
  return url;
}

/** A file or the certificates themselves. */
function readTls({ KUBERNETES_CA: given, KUBERNETES_SERVER_NAME: serverName }: NodeJS.ProcessEnv) {
  const text = !given || given.includes("-----BEGIN") ? given : readText("KUBERNETES_CA", given);
  const certificates = [...(text ?? "").matchAll(CERTIFICATE)].map(([certificate]) => `${certificate}\n`);
  if (given && certificates.length === 0) {
    throw new StartRefused("KUBERNETES_CA must be a file of certificates in PEM form,\nor such certificates");
  }
  return { certificates, ...(serverName ? { serverName } : {}) };
}

type Token = { text: string } | { folder: string; name: string } | Record<never, never>;

function readToken({ KUBERNETES_TOKEN: text, KUBERNETES_TOKEN_FILE: file }: NodeJS.ProcessEnv): Token {
  if (text && file) {
    throw new StartRefused("only one of KUBERNETES_TOKEN and KUBERNETES_TOKEN_FILE may be set");
  }
  if (text) return { text };
  if (!file) return {};
  const name = basename(file);
  const refuse = (why: string): never => {
    throw new StartRefused(`KUBERNETES_TOKEN_FILE names ${file}, which ${why}`);
  };
  if (!existsSync(file)) return refuse("does not exist");
  if (!statSync(file).isFile()) return refuse("is no file");
  if (name.startsWith(".")) return refuse("begins with a dot: give the file another name");
  return { folder: resolve(dirname(file)), name };
}

/** Names settings of a cluster that are there while its address is not, so that nobody is asked. */
export function unusedClusterSettings(environment: NodeJS.ProcessEnv): string[] {
  if (environment.KUBERNETES_API_URL) return [];
  return SETTINGS.filter((name) => environment[name]);
}

function readOptions(environment: NodeJS.ProcessEnv): Record<string, string> {
  const { KUBERNETES_VIRTUAL_MACHINES: machines, KUBERNETES_TIMEOUT_SECONDS: seconds } = environment;
  if (machines && !ON_OFF.has(machines))
    throw new StartRefused("KUBERNETES_VIRTUAL_MACHINES must be on or off");
  if (seconds && !(Number(seconds) >= 1 && Number(seconds) <= TIMEOUT_SECONDS_MAX)) {
    throw new StartRefused(`KUBERNETES_TIMEOUT_SECONDS must be a number from 1 to ${TIMEOUT_SECONDS_MAX}`);
  }
  return {
    ...(machines ? { KUBERNETES_VIRTUAL_MACHINES: machines } : {}),
    ...(seconds ? { KUBERNETES_TIMEOUT_SECONDS: seconds } : {}),
  };
}

function readText(variable: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new StartRefused(`${variable} names ${file}, which cannot be read`);
  }
}
