/** Owners of addresses through the HTTP face: conditions, promotion, an agent's reach, late and lost messages. */
import { beforeEach, describe, expect, test } from "vitest";
import { blockObject } from "../../support/simulation/deployment.ts";
import { type Caller, Face } from "./face.ts";

const HANDLE = "net.vmi.n.vm1";
const owner = (pod: string, node: string) => ({ namespace: "n", pod, node });
const ref = (pod: string) => ({ namespace: "n", pod });

let face: Face;

beforeEach(async () => {
  face = await Face.open(["a", "b", "c"]);
  await face.must("PUT", "/v1/pools/four", { cidr: "10.0.0.0/24", blockSize: 28 });
  await face.must("PUT", "/v1/pools/six", { cidr: "fd00::/120", blockSize: 124 });
});

/** A VM on host `a` with an address of each family. */
async function running(): Promise<string[]> {
  const wish = { host: "a", handle: HANDLE, ipv4: { count: 1 }, ipv6: { count: 1 }, attributes: ref("src") };
  const body = await face.must("POST", "/v1/allocations", wish, "agent:a");
  return body.allocations.map(({ address }: { address: string }) => address);
}

/** The same, and its target on host `b` is prepared. */
async function migrating(): Promise<string[]> {
  const addresses = await running();
  const wish = { host: "b", handle: HANDLE, ipv4: { count: 1 }, ipv6: { count: 1 }, maxPerHandle: 1 };
  const target = { ...wish, ownerSlot: "alternate", attributes: ref("tgt") };
  const body = await face.must("POST", "/v1/allocations", target, "agent:b");
  expect(body.reused).toBe(true);
  return addresses;
}

async function owners(address: string) {
  const { body } = await face.send("GET", `/v1/allocations/${address}`);
  return [body.attributes, body.alternateAttributes];
}

function update(address: string, body: object, caller: Caller = "admin") {
  return face.send("PATCH", `/v1/allocations/${address}/owners`, { handle: HANDLE, ...body }, caller);
}

function change(kind: string, pod: string, more: object = {}, caller: Caller = "admin") {
  const body = { handle: HANDLE, change: kind, owner: ref(pod), ...more };
  return face.send("POST", "/v1/owner-changes", body, caller);
}

const code = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

describe("updateOwners", () => {
  test("replaces owners under conditions, and answers the allocation", async () => {
    const [v4 = ""] = await running();
    const answer = await update(v4, {
      setAlternate: { ...ref("tgt"), node: "b" },
      expectAlternateEmpty: true,
      expectActive: ref("nobody asks: it is not replaced"),
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ address: v4, attributes: owner("src", "a"), handle: HANDLE });
    expect(answer.body.alternateAttributes).toEqual(owner("tgt", "b"));
    const stale = { clearActive: true, expectActive: ref("other") };
    expect(code(await update(v4, stale))).toEqual([409, "owner_mismatch"]);
    expect(code(await update(v4, { clearAlternate: true, expectAlternateEmpty: true }))).toEqual([
      409,
      "owner_mismatch",
    ]);
    expect((await update(v4, { clearActive: true, expectActive: ref("src") })).status).toBe(200);
    expect(await owners(v4)).toEqual([{}, owner("tgt", "b")]);
  });

  test("refuses contradictions, and each with its place", async () => {
    const [v4 = ""] = await running();
    const answer = await update(v4, {
      setActive: ref("x"),
      clearActive: true,
      expectAlternate: ref("y"),
      expectAlternateEmpty: true,
    });
    expect(code(answer)).toEqual([400, "invalid_request"]);
    expect(answer.body.errors.map(({ pointer, code: of }: Record<string, string>) => [pointer, of])).toEqual([
      ["/clearActive", "conflicting_fields"],
      ["/expectAlternateEmpty", "conflicting_fields"],
    ]);
    const foreign = await update(v4, { setActive: { ...ref("x"), node: "b" } }, "agent:a");
    expect(foreign.body.errors).toMatchObject([{ pointer: "/setActive/node", code: "attribute_conflict" }]);
  });

  test("of another handle, of nobody and of nowhere are refused, and no block comes of it", async () => {
    const [v4 = ""] = await running();
    const body = { handle: "other", clearActive: true };
    expect(code(await face.send("PATCH", `/v1/allocations/${v4}/owners`, body))).toEqual([
      409,
      "handle_mismatch",
    ]);
    expect((await update("10.0.0.100", { clearActive: true })).body).toMatchObject({
      status: 404,
      evidence: { address: "10.0.0.100", state: "free" },
    });
    expect(code(await update("192.0.2.1", {}))).toEqual([409, "address_not_in_pool"]);
    expect(face.world.objectNames).not.toContain(blockObject("10.0.0.96/28"));
  });

  test("I3: a copy that is late changes nothing", async () => {
    const [v4 = ""] = await running();
    const held = face.world.hold({ method: "updateOwners", kind: "request" });
    const lost = face.begin("PATCH", `/v1/allocations/${v4}/owners`, {
      handle: HANDLE,
      setActive: ref("old"),
    });
    await face.until(() => held.messages.length > 0);
    await face.world.advance(3_000);
    held.release();
    expect(code(await face.settle(lost))).toEqual([503, "overloaded"]);
    expect(await owners(v4)).toEqual([owner("src", "a"), undefined]);
  });

  test("an agent that reaches neither address nor owner cannot tell it from what is free", async () => {
    const [v4 = ""] = await running();
    const taken = await update(v4, { clearActive: true }, "agent:c");
    const free = await update("10.0.0.100", { clearActive: true }, "agent:c");
    const nowhere = await update("192.0.2.1", { clearActive: true }, "agent:c");
    const told = ({ status, body: { requestId: _id, ...body } }: typeof taken) => ({ status, body });
    expect(code(taken)).toEqual([403, "host_mismatch"]);
    expect([told(free), told(nowhere)]).toEqual([told(taken), told(taken)]);
    expect((await update(v4, { setActive: ref("new") }, "agent:a")).body.attributes).toEqual(
      owner("new", "a"),
    );
  });
});

describe("changeOwner", () => {
  test("a migration: prepare, promote, clear the source; the address stays", async () => {
    const addresses = await migrating();
    const promoted = await change("promote", "tgt", {}, "agent:b");
    expect(promoted.body).toMatchObject({ changed: 2, unchanged: 0, released: 0 });
    expect(promoted.body.allocations.map(({ address }: { address: string }) => address)).toEqual(addresses);
    for (const address of addresses) {
      expect(await owners(address)).toEqual([owner("tgt", "b"), owner("src", "a")]);
    }
    expect((await change("promote", "tgt", {}, "agent:b")).body).toMatchObject({ changed: 0, unchanged: 2 });
    const cleared = await change("clear", "src", { releaseWhenUnowned: true }, "agent:a");
    expect(cleared.body).toMatchObject({ changed: 2, released: 0 });
    const gone = await change("clear", "tgt", { releaseWhenUnowned: true }, "agent:b");
    expect(gone.body).toEqual({ changed: 0, unchanged: 0, released: 2, allocations: [] });
    expect((await face.must("GET", `/v1/handles/${HANDLE}`)).items).toEqual([]);
    const again = await change("clear", "tgt", { releaseWhenUnowned: true }, "agent:b");
    expect(again.body, "given up before").toMatchObject({ changed: 0, released: 0 });
  });

  test("refuses with the reason, and no address of any block is changed", async () => {
    expect(code(await change("promote", "tgt"))).toEqual([409, "handle_not_allocated"]);
    const [v4 = "", v6 = ""] = await running();
    expect(code(await change("promote", "tgt"))).toEqual([409, "alternate_owner_empty"]);
    await update(v4, { setAlternate: ref("tgt") });
    await update(v6, { setAlternate: ref("else") });
    expect(code(await change("promote", "tgt"))).toEqual([409, "alternate_owner_mismatch"]);
    expect(await owners(v4)).toEqual([owner("src", "a"), owner("tgt", "a")]);
    expect(code(await change("promote", ""))).toEqual([400, "invalid_request"]);
  });

  test("an agent moves only owners on its host, and does not learn of others", async () => {
    const [v4 = ""] = await migrating();
    expect(code(await change("promote", "tgt", {}, "agent:a"))).toEqual([403, "host_mismatch"]);
    expect(code(await change("clear", "src", {}, "agent:b"))).toEqual([403, "host_mismatch"]);
    expect(code(await change("promote", "tgt", {}, "agent:c"))).toEqual([409, "handle_not_allocated"]);
    expect(await owners(v4)).toEqual([owner("src", "a"), owner("tgt", "b")]);
  });

  test("an agent releases by handle what its host's owner alone still holds", async () => {
    await migrating();
    await change("promote", "tgt", {}, "agent:b");
    const release = (caller: Caller) => face.must("DELETE", `/v1/handles/${HANDLE}`, undefined, caller);
    expect((await release("agent:b")).released, "the source still owns it").toBe(0);
    await change("clear", "src", {}, "agent:a");
    expect((await release("agent:b")).released).toBe(2);
  });

  test("a lost answer: the same request again completes it and frees the index row", async () => {
    const [v4 = ""] = await running();
    face.world.drop({ method: "changeOwner", kind: "answer" }, { times: 1, loss: "error" });
    const body = { handle: HANDLE, change: "clear", owner: ref("src"), releaseWhenUnowned: true };
    const first = await face.settle(face.begin("POST", "/v1/owner-changes", body));
    expect(first.status).toBe(503);
    const second = await face.send("POST", "/v1/owner-changes", body);
    expect(second.status).toBe(200);
    expect(code(await face.send("GET", `/v1/allocations/${v4}`))).toEqual([404, "address_not_allocated"]);
    const rows = await face.settle(face.deployed.ports.handleIndex(HANDLE).list({ handle: HANDLE }));
    expect(rows.rows).toEqual([]);
  });

  test("an address that is under way is not passed over", async () => {
    const held = face.world.hold({ toClass: "BlockObject", method: "allocate", kind: "request" });
    const wish = { host: "a", handle: HANDLE, ipv4: { count: 1 }, attributes: ref("src") };
    const adding = face.begin("POST", "/v1/allocations", wish);
    await face.until(() => held.messages.length > 0);
    // Time stands still: the request that is under way may still land.
    let early: Awaited<ReturnType<typeof change>> | undefined;
    const body = { handle: HANDLE, change: "clear", owner: ref("src"), releaseWhenUnowned: true };
    void face.begin("POST", "/v1/owner-changes", body).then((answer) => {
      early = answer;
    });
    await face.until(() => early !== undefined);
    expect(early && code(early)).toEqual([503, "in_progress"]);
    held.release();
    expect((await face.settle(adding)).status).toBe(201);
    expect((await change("clear", "src", { releaseWhenUnowned: true })).body.released).toBe(1);
  });
});

describe("getAddress", () => {
  const view = async (address: string) => face.must("GET", `/v1/addresses/${address}`, undefined, "reader");

  test("tells of an address in each state, and why it is not given out", async () => {
    await face.must("PATCH", "/v1/config", { ipCooldownSeconds: 60 });
    await face.must("PUT", "/v1/reservations/kept", { reservedCIDRs: ["10.0.0.8/30", "192.0.2.0/24"] });
    expect(await view("192.0.2.1")).toMatchObject({
      state: "not_in_any_pool",
      allocatable: false,
      reason: "no_pool",
      reservations: ["kept"],
      tenures: [],
    });
    expect(await view("10.0.0.100")).toMatchObject({
      state: "no_block",
      allocatable: true,
      pool: "four",
      block: "10.0.0.96/28",
      tenuresComplete: true,
    });
    expect(face.world.objectNames).not.toContain(blockObject("10.0.0.96/28"));
    const assign = { host: "a", handle: "h", attributes: ref("one") };
    await face.must("PUT", "/v1/allocations/10.0.0.8", assign);
    expect(await view("10.0.0.8")).toMatchObject({
      state: "allocated",
      allocatable: false,
      reason: "allocated",
      blockOwner: "a",
      reservations: ["kept"],
      allocation: { address: "10.0.0.8", handle: "h", reserved: true },
    });
    expect(await view("10.0.0.9")).toMatchObject({ state: "free", allocatable: false, reason: "reserved" });
    expect(await view("10.0.0.1")).toMatchObject({ state: "free", allocatable: true, tenuresComplete: true });
    await face.must("DELETE", "/v1/handles/h");
    const cooling = await view("10.0.0.8");
    expect(cooling).toMatchObject({
      state: "cooling",
      allocatable: false,
      reason: "cooling",
      tenures: [{ host: "a", handle: "h", attributes: { ...ref("one"), node: "a" } }],
      tenuresComplete: true,
    });
    expect(Date.parse(cooling.freeAt) - Date.parse(cooling.tenures[0].releasedAt)).toBe(60_000);
    expect(cooling.allocation).toBeUndefined();
  });

  test("the pool's state is the reason, and what is set aside for a host is told", async () => {
    const wish = { host: "a", handle: "h", ipv4: { count: 1 }, hostReserved: { ipv4: { start: 1, end: 1 } } };
    const { allocations } = await face.must("POST", "/v1/allocations", wish);
    const { block } = allocations[0];
    const first = block.slice(0, block.indexOf("/"));
    expect(await view(first)).toMatchObject({ state: "host_reserved", reason: "host_reserved" });
    await face.must("PATCH", "/v1/pools/four", { disabled: true });
    expect(await view("10.0.0.100")).toMatchObject({ state: "no_block", reason: "pool_disabled" });
    await face.must("PATCH", "/v1/pools/four", { disabled: false, assignmentMode: "Manual" });
    expect(await view("10.0.0.100")).toMatchObject({ allocatable: false, reason: "manual_only" });
    await face.must("DELETE", "/v1/pools/four");
    expect(await view(allocations[0].address)).toMatchObject({ state: "allocated", reason: "allocated" });
    expect(await view("10.0.0.100")).toMatchObject({ reason: "pool_draining" });
  });

  test("agents may not ask", async () => {
    expect(code(await face.send("GET", "/v1/addresses/10.0.0.1", undefined, "agent:a"))).toEqual([
      403,
      "role_insufficient",
    ]);
  });
});
