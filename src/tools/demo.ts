/**
 * `npm run demo`: a pool, a host, two pods, a retry, a power cut, a release, over HTTP, with what is sent
 * and what comes back. Starts a service of its own in a temporary folder and removes it again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Launched, launch } from "./launch.ts";

type Json = Record<string, unknown>;

interface Allocation {
  address: string;
  block: string;
  handle: string;
}

let service: Launched | undefined;
let url = "";

function say(text: string): void {
  console.log(`\n# ${text}`);
}

/** Sends one request, shows it and its answer, and insists on the status. */
async function send(method: string, path: string, status: number, body?: Json, key?: string): Promise<Json> {
  console.log(`> ${method} ${path}${key === undefined ? "" : `   Idempotency-Key: ${key}`}`);
  if (body !== undefined) {
    console.log(`> ${JSON.stringify(body)}`);
  }
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const value = text === "" ? {} : (JSON.parse(text) as Json);
  console.log(`< ${answer.status} ${shorten(value)}`);
  if (answer.status !== status) {
    throw new Error(`expected ${status}: ${text}`);
  }
  return value;
}

/** What a person wants to see of an answer. */
function shorten(value: Json): string {
  const items = (value.allocations ?? value.items) as Allocation[] | undefined;
  if (items !== undefined) {
    const list = items.map(({ address, block, handle }) => `${address} of ${block} for ${handle}`);
    return `${list.join(", ") || "(none)"}${value.replayed === true ? " (replayed)" : ""}`;
  }
  if (value.code !== undefined) {
    return `${String(value.code)}: ${String(value.detail)}\n  hint: ${String(value.hint ?? "")}`;
  }
  const kept = ["name", "cidr", "released", "alreadyFree", "rejected"].filter((key) => key in value);
  return kept.map((key) => `${key} ${String(value[key])}`).join(", ");
}

function addressOf(result: Json): string {
  return (result.allocations as Allocation[])[0]?.address ?? "";
}

async function start(dataFolder: string): Promise<void> {
  service = await launch({ dataFolder, port: 0, address: "127.0.0.1" });
  url = await service.ready;
  console.log(`# the service listens on ${url}`);
}

async function demo(dataFolder: string): Promise<void> {
  await start(dataFolder);
  say("a pool, cut into blocks of 16 addresses, and a host");
  await send("PUT", "/v1/pools/demo", 201, { cidr: "10.77.0.0/24", blockSize: 28 });
  await send("PUT", "/v1/hosts/node-1", 201, { labels: { zone: "b" } });

  say("two pods get their addresses; both come from a block of the host");
  const pod = (handle: string): Json => ({ host: "node-1", handle, ipv4: { count: 1 } });
  const first = await send("POST", "/v1/allocations", 201, pod("net.pod-a"), "demo-pod-a");
  await send("POST", "/v1/allocations", 201, pod("net.pod-b"), "demo-pod-b");

  say("the answer was lost? the same key gives the same address");
  const again = await send("POST", "/v1/allocations", 201, pod("net.pod-a"), "demo-pod-a");
  if (addressOf(again) !== addressOf(first)) {
    throw new Error("the retry got another address");
  }

  say("a power cut (SIGKILL), and a new start on the same data");
  await service?.kill();
  await start(dataFolder);
  await send("GET", "/v1/allocations?host=node-1", 200);

  say("a refusal says why, and what to do");
  await send("POST", "/v1/allocations", 409, { ...pod("net.pod-c"), ipv4: { count: 1, pools: ["other"] } });

  say("both pods go; nothing is left");
  await send("POST", "/v1/releases", 200, { handles: ["net.pod-a", "net.pod-b"] });
  await send("GET", "/v1/allocations?host=node-1", 200);
}

const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-demo-"));
try {
  await demo(dataFolder);
} finally {
  await service?.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
