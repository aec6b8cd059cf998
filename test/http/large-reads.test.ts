/** Reads of a block that holds more than one message between objects may: every list and figure, each address once. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";

let service: Service;

/** One character that is none of the first 256 makes a text take two bytes for each. */
const VALUE = `${"x".repeat(1_023)}Ж`;
const attributes = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`k${n}`, VALUE]));
const PER_REQUEST = 192;
/** With 66 KiB each, more than a message of 32 MiB. */
const HELD = 3 * PER_REQUEST;
/** However slow the machine is. */
const WITHIN_MS = 300_000;

const given: string[] = [];

interface Body {
  readonly allocations?: { readonly address: string }[];
  readonly items?: { readonly address: string }[];
  readonly nextCursor?: string;
}

/** Why not the common client: it waits so long for an answer, and these are the largest there are. */
async function call(method: string, path: string, json?: unknown): Promise<Body> {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    ...(json === undefined
      ? {}
      : { body: JSON.stringify(json), headers: { "content-type": "application/json" } }),
  });
  const body = (await answer.json()) as Body;
  expect(answer.ok, JSON.stringify(body).slice(0, 1_000)).toBe(true);
  return body;
}

beforeAll(async () => {
  service = await startService();
  await call("PUT", "/v1/pools/default", { cidr: "10.9.0.0/20", blockSize: 20 });
  await call("PUT", "/v1/hosts/node-1", { labels: {} });
  while (given.length < HELD) {
    const wanted = { host: "node-1", handle: "large", attributes, ipv4: { count: PER_REQUEST } };
    const { allocations = [] } = await call("POST", "/v1/allocations", wanted);
    expect(allocations).toHaveLength(PER_REQUEST);
    given.push(...allocations.map(({ address }) => address));
  }
  // What a block has just written it has once in memory for all addresses of a request; what it reads, for each.
  await service.restart();
}, WITHIN_MS);

afterAll(async () => {
  await service.stop();
});

/** All pages of a list. */
async function pages(path: string): Promise<string[]> {
  const told: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < HELD; page += 1) {
    const more = `${path.includes("?") ? "&" : "?"}cursor=${cursor}`;
    const { items = [], nextCursor } = await call("GET", cursor === undefined ? path : path + more);
    told.push(...items.map(({ address }) => address));
    cursor = nextCursor;
    if (cursor === undefined) break;
  }
  expect(cursor).toBeUndefined();
  return told;
}

it.each(["/v1/handles/large", "/v1/allocations?limit=1000"])(
  "%s tells each address once",
  async (path) => {
    expect((await pages(path)).toSorted()).toEqual(given.toSorted());
    expect(service.log()).toBe("");
  },
  WITHIN_MS,
);

it(
  "a filter that none passes, and one address",
  async () => {
    expect(await pages("/v1/allocations?host=node-1&pod=none")).toEqual([]);
    expect(await call("GET", `/v1/allocations/${given[0]}`)).toMatchObject({ handle: "large", attributes });
  },
  WITHIN_MS,
);

it(
  "figures that need no attributes: of a reservation, and of a host that is removed",
  async () => {
    const reservation = await call("PUT", "/v1/reservations/all", { reservedCIDRs: ["10.9.0.0/20"] });
    expect(reservation).toMatchObject({ addressesAllocatedInside: HELD });
    const removed = await call("DELETE", "/v1/hosts/node-1");
    expect(removed).toMatchObject({ allocationsLeft: HELD, allocationsKept: HELD });
    expect(service.log()).toBe("");
  },
  WITHIN_MS,
);
