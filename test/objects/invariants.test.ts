/** Figures and limits of the whole deployment in real workerd, as the API tells them. */
import { reset } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";
import { send } from "../support/objects/deployment.ts";

type Body = Record<string, unknown>;

interface BlockText {
  readonly map: string;
  readonly capacity: number;
  readonly allocated: number;
  readonly cooling: number;
  readonly hostReserved: number;
  readonly reserved: number;
  readonly available: number;
}

beforeEach(async () => {
  await reset();
});

async function must(method: string, path: string, body?: Body): Promise<Body> {
  const answer = await send(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A pool of two blocks of eight with a reservation, a cooldown, and two hosts; written before any lease is out. */
async function setUp(): Promise<void> {
  await must("PATCH", "/v1/config", { ipCooldownSeconds: 600 });
  await must("PUT", "/v1/reservations/some", { reservedCIDRs: ["10.7.0.2/31"] });
  await must("PUT", "/v1/pools/p", { cidr: "10.7.0.0/28", blockSize: 29 });
  for (const host of ["a", "b"]) await must("PUT", `/v1/hosts/${host}`, { labels: {} });
}

test("I2 I14: each address is in one state, and every figure is a sum of these", async () => {
  await setUp();
  await must("POST", "/v1/hosts/a/blocks", { families: [4], hostReserved: { ipv4: { start: 1, end: 1 } } });
  await must("POST", "/v1/allocations", { host: "a", handle: "first", ipv4: { count: 3 } });
  await must("POST", "/v1/allocations", { host: "b", handle: "second", ipv4: { count: 2 } });
  await must("PUT", "/v1/allocations/10.7.0.3", { host: "b", handle: "third" });
  await must("DELETE", "/v1/handles/second");
  const blocks = (await must("GET", "/v1/blocks?map=true")).items as BlockText[];
  expect(blocks).toHaveLength(2);
  const count = ({ map }: BlockText, ...marks: string[]) =>
    [...map].filter((mark) => marks.includes(mark)).length;
  for (const block of blocks) {
    expect(block.map).toHaveLength(block.capacity);
    expect(count(block, "#", "b")).toBe(block.allocated);
    expect(count(block, "c")).toBe(block.cooling);
    expect(count(block, "w")).toBe(block.hostReserved);
    expect(count(block, ".")).toBe(block.available);
    expect(count(block, "#", "b", "c", "w", ".", "r")).toBe(block.capacity);
  }
  const sum = (pick: (block: BlockText) => number) =>
    String(blocks.reduce((total, block) => total + pick(block), 0));
  const [usage] = (await must("GET", "/v1/utilization?exact=true")).items as Body[];
  expect(usage).toMatchObject({
    capacity: "16",
    allocated: sum(({ allocated }) => allocated),
    cooling: sum(({ cooling }) => cooling),
    reserved: sum(({ reserved }) => reserved),
    available: sum(({ available }) => available),
  });
  expect(usage).toMatchObject({ allocated: "4", cooling: "2", reserved: "2" });
});

test("I9: a handle holds no more than its limit, whatever two hosts ask for it at once", async () => {
  await setUp();
  const asked = Array.from({ length: 12 }, (_, n) => {
    const host = n % 2 === 0 ? "a" : "b";
    return send("POST", "/v1/allocations", { host, handle: "vm", ipv4: { count: 1 }, maxPerHandle: 2 });
  });
  const answers = await Promise.all(asked);
  const { items } = (await must("GET", "/v1/handles/vm")) as { items: { address: string }[] };
  expect(items).toHaveLength(2);
  const held = new Set(items.map(({ address }) => address));
  for (const { status, body } of answers.filter((answer) => answer.status < 300)) {
    expect(status).toBe(201);
    for (const { address } of body.allocations as { address: string }[]) expect(held).toContain(address);
  }
  expect(answers.filter(({ status }) => status >= 300 && status !== 503)).toEqual([]);
});
