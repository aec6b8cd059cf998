/** Checks of consistency on the running service: started, read in pages, one at a time, never lost. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { components } from "../../src/http/schemas/components.ts";
import { type Service, startService } from "../support/service.ts";
import { type Answer, type Client, clientOf, expectStatus } from "./client.ts";

/** Blocks enough for a check to last a while. */
const BLOCKS = 256;
const HANDLES = ["one", "two", "three", "four", "five"];
const CHECK_MAX_MS = 60_000;

let service: Service;
let call: Client;

beforeAll(async () => {
  service = await startService();
  call = clientOf(service);
  await expectStatus(call("PUT", "/v1/pools/default", { cidr: "10.10.0.0/18", blockSize: 26 }), 201);
  await expectStatus(call("PUT", "/v1/hosts/node-1", { labels: {} }), 201);
  const claimed = await expectStatus(
    call("POST", "/v1/affinity-claims", { host: "node-1", cidr: "10.10.0.0/18" }),
    200,
  );
  expect(claimed.body.results).toHaveLength(BLOCKS);
}, 60_000);

afterAll(async () => {
  await service.stop();
});

async function start(wish: object = {}): Promise<string> {
  const started = await expectStatus(call("POST", "/v1/checks", wish), 202);
  expect(components.Check.safeParse(started.body).error).toBeUndefined();
  expect(started.body).toMatchObject({ state: "running", problems: 0, findings: [] });
  return started.body.id;
}

async function ended(id: string): Promise<Answer["body"]> {
  for (let waited = 0; waited < CHECK_MAX_MS; waited += 50) {
    const { body } = await expectStatus(call("GET", `/v1/checks/${id}`), 200);
    if (body.state !== "running") return body;
    await setTimeout(50);
  }
  throw new Error(`check ${id} did not end`);
}

/** The file of the one object that has such a table: the only shard of the index. */
function fileWith(table: string): string {
  const folder = join(service.dataDir, "objects");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".sqlite"),
  );
  const found = files.find((name) => {
    const db = new DatabaseSync(join(folder, name), { readOnly: true });
    const row = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
    db.close();
    return row !== undefined;
  });
  if (found === undefined) throw new Error(`no object has a table ${table}`);
  return join(folder, found);
}

/** Addresses are given out, then the index loses their rows, as with a disk that was restored in parts. */
async function loseRows(): Promise<void> {
  for (const handle of HANDLES) {
    await expectStatus(call("POST", "/v1/allocations", { host: "node-1", handle, ipv4: { count: 1 } }), 201);
  }
  await service.kill();
  const db = new DatabaseSync(fileWith("keys"));
  db.exec("DELETE FROM keys");
  db.close();
  await service.restart();
}

describe("a check", () => {
  it("of a sound deployment finds nothing, and looks at every block", async () => {
    const body = await ended(await start());
    expect(components.Check.safeParse(body).error).toBeUndefined();
    const sound = { state: "done", problems: 0, repaired: 0, findings: [] };
    expect(body).toMatchObject({ ...sound, blocksChecked: BLOCKS, blocksTotal: BLOCKS });
    expect(body.finishedAt >= body.startedAt).toBe(true);
    expect(body).not.toHaveProperty("nextCursor");
  });

  it("lists what it finds in pages; with repair it is mended, and the next finds nothing", async () => {
    await loseRows();
    const looked = await start();
    expect(await ended(looked)).toMatchObject({ state: "done", problems: HANDLES.length, repaired: 0 });
    const pages: Answer["body"][] = [];
    let cursor = "";
    for (let n = 0; n < HANDLES.length; n += 1) {
      const path = `/v1/checks/${looked}?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const { body } = await expectStatus(call("GET", path), 200);
      pages.push(body);
      cursor = body.nextCursor ?? "";
      if (cursor === "") break;
    }
    expect(pages.map(({ findings }) => findings.length)).toEqual([2, 2, 1]);
    const findings = pages.flatMap((page) => page.findings);
    expect(findings.map(({ handle }) => handle).toSorted()).toEqual(HANDLES.toSorted());
    for (const finding of findings) {
      expect(finding).toMatchObject({ kind: "index", problem: expect.stringMatching(/^key_not_listed: /) });
      expect(finding).not.toHaveProperty("repaired");
    }
    const mended = await ended(await start({ repair: true }));
    expect(mended).toMatchObject({ problems: HANDLES.length, repaired: HANDLES.length });
    expect(mended.findings.every(({ repaired }: { repaired: boolean }) => repaired)).toBe(true);
    expect(await ended(await start())).toMatchObject({ state: "done", problems: 0 });
    const released = await expectStatus(call("POST", "/v1/releases", { handles: HANDLES }), 200);
    expect(released.body).toMatchObject({ released: HANDLES.length });
    const { body: events } = await expectStatus(call("GET", "/v1/events?type=repair"), 200);
    expect(events.items).toHaveLength(1);
    expect(events.items[0]).toMatchObject({
      severity: "info",
      actor: "anonymous",
      summary: `Check ${mended.id} mended ${HANDLES.length} of ${HANDLES.length} problems.`,
      after: { problems: String(HANDLES.length), repaired: String(HANDLES.length) },
    });
  });

  it("can be kept to a pool or a host", async () => {
    expect(await ended(await start({ host: "node-1" }))).toMatchObject({
      blocksChecked: BLOCKS,
      problems: 0,
    });
    expect(await ended(await start({ pool: "default" }))).toMatchObject({ blocksChecked: BLOCKS });
    const nowhere = { pool: "nothing", host: "nobody" };
    const unknown = await expectStatus(call("POST", "/v1/checks", nowhere), 400);
    expect(unknown.body.errors).toEqual([
      { pointer: "/pool", code: "out_of_range", message: "names no pool" },
      { pointer: "/host", code: "out_of_range", message: "names no host that ever was" },
    ]);
  });

  it("runs alone: whoever comes meanwhile is told which one runs", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => call("POST", "/v1/checks", {})));
    const begun = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status === 409);
    expect(begun.length + refused.length).toBe(answers.length);
    expect(refused.length).toBeGreaterThan(0);
    const ids = new Set(begun.map(({ body }) => body.id));
    for (const { body } of refused) {
      expect(body).toMatchObject({ code: "check_running", retry: "later" });
      expect(ids).toContain(body.evidence.field);
    }
    for (const id of ids) await ended(id);
  });

  it("goes on where it was when the process is killed", async () => {
    const id = await start({ repair: true });
    await service.kill();
    await service.restart();
    expect(await ended(id)).toMatchObject({ state: "done", problems: 0, blocksChecked: BLOCKS });
  });

  it("that is not there, or is asked for in the wrong way, is refused", async () => {
    for (const id of ["999", "x", "1e3", "%00"]) {
      const { body } = await expectStatus(call("GET", `/v1/checks/${id}`), 404);
      expect(body.code).toBe("check_not_found");
    }
    await expectStatus(call("GET", `/v1/checks/${"9".repeat(65)}`), 400);
    await expectStatus(call("GET", "/v1/checks/1?cursor=x"), 400);
    await expectStatus(call("GET", "/v1/checks/1?limit=0"), 400);
    await expectStatus(call("POST", "/v1/checks", { repair: "yes" }), 400);
    await expectStatus(call("POST", "/v1/checks", { scope: "all" }), 400);
    await expectStatus(call("POST", "/v1/checks"), 400, 415);
  });
});
