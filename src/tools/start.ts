/**
 * `npm start`: the service on this machine, on bare workerd, with its data on local disk.
 * Settings come from the environment: PORT, IPAM_DATA, IPAM_LISTEN, IPAM_TOKENS, KUBERNETES_* (cluster-access.ts);
 * IPAM_ENTRY, IPAM_VARS (tests).
 */
import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { faultOfTokens } from "../http/auth.ts";
import { repositoryRoot } from "./bundle.ts";
import { readClusterAccess, unusedClusterSettings } from "./cluster-access.ts";
import { type AuthMode, type Launched, type LaunchOptions, launch, StartRefused } from "./launch.ts";
import { writePublicFiles } from "./public-files.ts";

/** How often we look whether npm, which started us, is still there. */
const parentCheckMs = 500;

/** Reads the settings of a start. Rejects: `StartRefused` with the variable that is wrong. */
export function readSettings(environment: NodeJS.ProcessEnv): LaunchOptions {
  const port = Number(environment.PORT || "8787");
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new StartRefused(`PORT is ${environment.PORT}, but must be a number from 0 to 65535 (0 picks one)`);
  }
  const entry = environment.IPAM_ENTRY;
  if (entry && !existsSync(entry)) {
    throw new StartRefused(`IPAM_ENTRY names ${entry}, which does not exist`);
  }
  const tokens = environment.IPAM_TOKENS;
  const kubernetes = readClusterAccess(environment);
  return {
    port,
    dataFolder: resolve(environment.IPAM_DATA || resolve(repositoryRoot, "data")),
    address: environment.IPAM_LISTEN || "127.0.0.1",
    vars: readVars(environment.IPAM_VARS || "{}"),
    ...(entry ? { entry: resolve(entry) } : {}),
    ...(tokens === undefined ? {} : { tokens }),
    ...(kubernetes === undefined ? {} : { kubernetes }),
  };
}

function readVars(text: string): Record<string, string> {
  const refusal = new StartRefused('IPAM_VARS must be a JSON object of texts, such as {"NAME":"value"}');
  let vars: unknown;
  try {
    vars = JSON.parse(text);
  } catch {
    throw refusal;
  }
  if (typeof vars !== "object" || vars === null || Object.values(vars).some((v) => typeof v !== "string")) {
    throw refusal;
  }
  return vars as Record<string, string>;
}

const authText: Record<AuthMode, string> = {
  none: "none: whoever reaches this address is admin (set IPAM_TOKENS)",
  tokens: "bearer tokens from IPAM_TOKENS",
  "not configured": "not configured: all calls refused until IPAM_TOKENS is a sound list",
};

const EVERY_ADDRESS = /^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/;

/** Where a program on this machine reaches the service: nobody calls the address that stands for all. */
export function reachableUrl(url: string): string {
  return url.replace(EVERY_ADDRESS, (_, address) => `http://${address === "[::]" ? "[::1]" : "127.0.0.1"}`);
}

/** What a person sees when the service is ready; lines fit in 80 columns. */
export function readyText(
  listening: string,
  { dataFolder, kubernetes, tokens }: Pick<LaunchOptions, "dataFolder" | "kubernetes" | "tokens">,
  service: Pick<Launched, "lockTools" | "authMode" | "objectsMax" | "openFiles">,
  unused: readonly string[] = [],
): string {
  const { flock, setpriv } = service.lockTools;
  const url = reachableUrl(listening);
  const fault = tokens === undefined ? undefined : faultOfTokens(tokens);
  const near = relative(process.cwd(), dataFolder);
  const folder =
    near !== "" && !near.startsWith("..") && near.length < dataFolder.length ? `./${near}` : dataFolder;
  const authorization = service.authMode === "tokens" ? '-H "Authorization: Bearer $token" ' : "";
  const lines = [
    "edge-ipam is ready",
    "",
    `  Address   ${url}`,
    ...(url === listening ? [] : [`  Listens   on all addresses of this machine (${listening})`]),
    `  Docs      ${url}/docs`,
    `  Data      ${folder}`,
    `  Auth      ${authText[service.authMode]}`,
    ...(fault === undefined ? [] : [`            ${fault}`]),
    ...(kubernetes === undefined ? [] : [`  Cluster   ${kubernetes.vars.KUBERNETES_API_URL}`]),
    `  Objects   up to ${service.objectsMax} live at once (${service.openFiles} open files)`,
    ...(flock ? [] : ["  Lock      file with process id: util-linux flock is missing here"]),
    ...(setpriv ? [] : ["  Note      setpriv is missing: if this launcher is killed, workerd stays"]),
    ...unused.flatMap((name) => [
      `  Note      ${name} is set and not used:`,
      "            KUBERNETES_API_URL is not",
    ]),
    "",
    "  Try it:",
    `  curl -s ${authorization}${url}/v1/config`,
    "",
  ];
  return lines.join("\n");
}

async function main(): Promise<number> {
  const settings = readSettings(process.env);
  writePublicFiles();
  const service = await launch({ ...settings, onLog: (text) => process.stderr.write(text) });
  let stopping = false;
  const stop = (): void => {
    stopping = true;
    void service.stop();
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", stop);
  stopWithParent(stop);
  try {
    const url = await service.ready;
    console.log(readyText(url, settings, service, unusedClusterSettings(process.env)));
  } catch (error) {
    await service.kill();
    if (!stopping) {
      throw error;
    }
  }
  const { code, signal } = await service.ended;
  if (stopping) {
    return 0;
  }
  console.error(`edge-ipam: workerd ended by itself (${signal ?? `exit code ${code}`})`);
  return 1;
}

/** npm may be killed without a word to us; then the service must not live on unseen. */
function stopWithParent(stop: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) {
    return;
  }
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid !== parent) {
      clearInterval(watch);
      stop();
    }
  }, parentCheckMs);
  watch.unref();
}

if (import.meta.main) {
  process.exitCode = await main().catch((error: unknown) => {
    if (!(error instanceof StartRefused)) {
      throw error;
    }
    console.error(`edge-ipam: ${error.message}`);
    return 1;
  });
  process.exit();
}
