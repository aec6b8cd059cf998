/**
 * Writes the configuration with which bare workerd serves the bundle.
 * Classes, bindings and the compatibility date come from wrangler.toml, so that both runtimes agree.
 * No secret is written: workerd reads them from its own environment, or from a file.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { repositoryRoot } from "./bundle.ts";
import type { ClusterRoute } from "./cluster-access.ts";

/** What differs between two local deployments. */
export interface WorkerdSetting {
  /** Absolute path of the folder in which the objects live. */
  objectsFolder: string;
  /** Absolute path of the folder with the static files. */
  publicFolder: string;
  /** File name of the bundle, beside the configuration. */
  bundle: string;
  /** `host:port`, IPv6 hosts in brackets. */
  socket: string;
  /** Text bindings. */
  vars: Record<string, string>;
  /** Names of text bindings whose values workerd takes from its environment. */
  secrets: string[];
  /** The one server outside that the Worker may reach. */
  cluster?: ClusterRoute;
}

interface Deployment {
  compatibilityDate: string;
  objects: { binding: string; className: string }[];
}

/** Reads from wrangler.toml what the local deployment must have in common with it. */
export function readDeployment(
  toml = readFileSync(resolve(repositoryRoot, "wrangler.toml"), "utf8"),
): Deployment {
  const compatibilityDate = /^compatibility_date = "([0-9-]+)"$/m.exec(toml)?.[1];
  const objects = [...toml.matchAll(/\{ name = "(\w+)", class_name = "(\w+)" \}/g)].map(
    ([, binding = "", className = ""]) => ({ binding, className }),
  );
  if (compatibilityDate === undefined || objects.length === 0) {
    throw new Error("wrangler.toml: no compatibility date or no durable object bindings found");
  }
  return { compatibilityDate, objects };
}

/** Text in a Cap'n Proto file; JSON's escapes are a subset of its own, but for `\u`. */
function quote(text: string): string {
  const quoted = JSON.stringify(text);
  if (quoted.includes("\\u")) {
    throw new Error("a text binding or path contains a control character");
  }
  return quoted;
}

interface ServiceText {
  binding: string;
  name: string;
  kind: string;
}

/** The API server, and the folder with the token that is read again and again, since it is replaced. */
function clusterServices(route: ClusterRoute | undefined): ServiceText[] {
  if (route === undefined) return [];
  const { address, tls, tokenFolder } = route;
  const trust = tls?.certificates.length
    ? `trustedCertificates = [${tls.certificates.map(quote).join(", ")}]`
    : "trustBrowserCas = true";
  const name = tls?.serverName === undefined ? "" : `, certificateHost = ${quote(tls.serverName)}`;
  const protocol = tls === undefined ? "http = ()" : `https = (options = (), tlsOptions = (${trust})${name})`;
  const kind = `external = (address = ${quote(address)}, ${protocol})`;
  const services = [{ binding: "KUBERNETES", name: "kubernetes", kind }];
  if (tokenFolder === undefined) return services;
  const disk = `disk = (path = ${quote(tokenFolder)})`;
  return [...services, { binding: "KUBERNETES_TOKEN_FOLDER", name: "kubernetes-token", kind: disk }];
}

/**
 * Makes the text of the configuration.
 *
 * Why `preventEviction`: bare workerd closes idle objects together in its one thread, which stalls
 * everything for seconds when there are thousands.
 */
export function workerdConfig(setting: WorkerdSetting, deployment = readDeployment()): string {
  const namespaces = deployment.objects.map(
    ({ className }) =>
      `(className = ${quote(className)}, uniqueKey = ${quote(`edge-ipam-${className}`)}, ` +
      "enableSql = true, preventEviction = true)",
  );
  const bindings = [
    ...deployment.objects.map(
      ({ binding, className }) => `(name = ${quote(binding)}, durableObjectNamespace = ${quote(className)})`,
    ),
    '(name = "ASSETS", service = "public")',
    ...Object.entries(setting.vars).map(([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`),
    ...setting.secrets.map((name) => `(name = ${quote(name)}, fromEnvironment = ${quote(name)})`),
    ...clusterServices(setting.cluster).map(
      ({ binding, name }) => `(name = ${quote(binding)}, service = ${quote(name)})`,
    ),
  ];
  const services = [
    '(name = "main", worker = .main)',
    `(name = "objects", disk = (path = ${quote(setting.objectsFolder)}, writable = true))`,
    `(name = "public", disk = (path = ${quote(setting.publicFolder)}))`,
    ...clusterServices(setting.cluster).map(({ name, kind }) => `(name = ${quote(name)}, ${kind})`),
  ];
  const list = (items: string[]): string => items.map((item) => `\n    ${item},`).join("");
  return `# Written by src/tools/start.ts at each start.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [${list(services)}
  ],
  sockets = [(name = "http", address = ${quote(setting.socket)}, http = (), service = "main")],
);

const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed ${quote(setting.bundle)})],
  compatibilityDate = ${quote(deployment.compatibilityDate)},
  durableObjectStorage = (localDisk = "objects"),
  durableObjectNamespaces = [${list(namespaces)}
  ],
  bindings = [${list(bindings)}
  ],
);
`;
}
