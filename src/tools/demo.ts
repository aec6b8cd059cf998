/**
 * `npm run demo`: pools, hosts, 600 addresses, a repeat, a power cut, a refusal and a release, over HTTP.
 * Starts a service of its own in a temporary folder; with `-- --url <service>` it plays on a running one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Calls } from "./demo/calls.ts";
import { complain, say } from "./demo/screen.ts";
import { play } from "./demo/story.ts";
import { type Launched, launch } from "./launch.ts";

/** Plays on a running service. */
async function onRunning(url: string): Promise<void> {
  say(`edge-ipam, a demonstration on the service at ${url}`, "");
  say("It uses pools, hosts and handles of its own names, and gives everything back.", "");
  const calls = new Calls(url, process.env.IPAM_TOKEN);
  endWhenTold(calls);
  await play(calls, undefined);
}

/** Plays on a service that lives as long as the demonstration. */
async function onOwn(): Promise<void> {
  const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-demo-"));
  let service: Launched | undefined;
  const start = async (): Promise<string> => {
    service = await launch({ dataFolder, port: 0, address: "127.0.0.1" });
    return await service.ready;
  };
  const restart = async (): Promise<string> => {
    await service?.kill();
    return await start();
  };
  try {
    const calls = new Calls(await start(), undefined);
    endWhenTold(calls);
    say(`edge-ipam, a demonstration on ${calls.url}`, "");
    say("The service is its own, in a temporary folder; both go when it ends.", "");
    await play(calls, restart);
  } finally {
    await service?.kill();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

/** Ends early on Ctrl-C, with everything tidied up. */
function endWhenTold(calls: Calls): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => calls.interrupt());
}

const USAGE = [
  "npm run demo                     on a service of its own, in a temporary folder",
  "npm run demo -- --url <service>  on a running one, such as http://127.0.0.1:8787;",
  "                                 the variable IPAM_TOKEN holds an admin's token",
].join("\n");

/** Reads the command line. Shape: what is wrong with it, or what it asks for. */
function readOptions(): { readonly url?: string; readonly isHelp: boolean } | string {
  try {
    const options = { url: { type: "string" }, help: { type: "boolean", short: "h" } } as const;
    const { url, help = false } = parseArgs({ options }).values;
    if (url === undefined) return { isHelp: help };
    if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : "")) return `${url} is no http URL`;
    return { url: url.replace(/\/+$/, ""), isHelp: help };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const options = readOptions();
if (typeof options === "string") {
  console.error(`${options}\n\n${USAGE}`);
  process.exit(1);
}
if (options.isHelp) {
  console.log(USAGE);
  process.exit();
}
try {
  await (options.url === undefined ? onOwn() : onRunning(options.url));
} catch (error) {
  complain(`\nThe demonstration ended early: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
