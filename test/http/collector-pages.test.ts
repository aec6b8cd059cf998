/** What docs/leak-collector.md and docs/node-agents.md say of suspicions, as an operator would see it over the API. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { expectStatus } from "./client.ts";
import { GRACE, MINUTE, SETTLED, type Stage, staged } from "./collector-stage.ts";

let stage: Stage;

beforeEach(async () => {
  stage = await staged();
}, 60_000);
afterEach(() => stage.stop());

/** Allocates for node-1 with the given attributes under a handle of the network `pods`. */
async function allocate(name: string, attributes?: Record<string, string>): Promise<string> {
  const wish = {
    host: "node-1",
    handle: `pods.${name}`,
    ipv4: { count: 1 },
    ...(attributes && { attributes }),
  };
  const { body } = await expectStatus(stage.ops("POST", "/v1/allocations", wish), 201);
  return body.allocations[0].address;
}

const suspicionOf = async (address: string) =>
  (await stage.eyes("GET", `/v1/addresses/${address}`)).body.leak;

it("a suspicion is in the list of its host at once, in that of all hosts after a sweep; a release is a tenure", async () => {
  const gone = await stage.pod("node-1", "gone");
  await stage.sweep();
  await stage.pass(SETTLED);
  await stage.report("node-1", []);
  expect(await stage.all("/v1/leaks?host=node-1")).toHaveLength(1);
  // A sweep that the clock began may have met the host already; one that begins now has met it for sure.
  await stage.sweep();
  expect(await stage.all("/v1/leaks")).toHaveLength(1);
  await stage.pass(GRACE);
  await stage.report("node-1", []);
  await stage.pass(MINUTE);
  await stage.report("node-1", []);
  const { tenures, leak } = (await stage.eyes("GET", `/v1/addresses/${gone}`)).body;
  expect(leak).toBeUndefined();
  expect(tenures[0]).toMatchObject({ handle: "pods.gone", releasedBy: "collector" });
  // The collector's state counts it once a sweep met the host again.
  await stage.sweep();
  expect((await stage.eyes("GET", "/v1/gc")).body.releasedLastHour).toBe(1);
});

it("what the breaker stopped is confirmed until the next report, and held after the acknowledgement until another", async () => {
  for (let n = 0; n < 24; n += 1) await stage.pod("node-1", `many-${n}`);
  await stage.pass(SETTLED);
  await stage.report("node-1", []);
  await stage.pass(GRACE);
  await stage.report("node-1", []);
  const { breaker } = (await stage.eyes("GET", "/v1/gc")).body;
  expect(breaker).toMatchObject({ open: true, scope: "node-1", confirmed: 24 });
  const standing = async () => {
    const leaks = await stage.all("/v1/leaks?host=node-1");
    return [...new Set(leaks.map(({ state, reason }) => `${state} ${reason}`))];
  };
  expect(await standing()).toEqual(["confirmed awaiting_recheck"]);
  await stage.pass(MINUTE);
  await stage.report("node-1", []);
  expect(await standing()).toEqual(["held breaker_open"]);
  const named = { breakerOpenedAt: breaker.openedAt };
  await expectStatus(stage.ops("POST", "/v1/gc/acknowledgements", named), 200);
  expect(await standing()).toEqual(["held breaker_open"]);
  await stage.pass(MINUTE);
  await stage.report("node-1", []);
  expect(await standing()).toEqual([]);
});

it("a machine's address is no report's to judge, one without namespace and pod nobody's; a pod's is", async () => {
  const machine = await allocate("vm", { namespace: "web", pod: "launcher", "vmi-name": "db-0" });
  const external = await allocate("external");
  const pod = await allocate("pod", { namespace: "web", pod: "pod" });
  await stage.proveLeaked("node-1", []);
  expect(await suspicionOf(machine)).toBeUndefined();
  expect(await suspicionOf(external)).toBeUndefined();
  expect(await suspicionOf(pod)).toMatchObject({ kind: "workload", state: "confirmed" });
  const { allocation } = (await stage.eyes("GET", `/v1/addresses/${external}`)).body;
  expect(allocation).toMatchObject({ leakCollection: "auto" });
});

it("an incomplete report after a complete one makes its evidence stale, and says that it may be that", async () => {
  const pod = await stage.pod("node-1", "pod");
  await stage.pass(SETTLED);
  await stage.report("node-1", []);
  const cut = { incarnation: "life-1", sequence: 2, ageMs: 0, complete: false, workloads: [] };
  await expectStatus(stage.agent("node-1")("PUT", "/v1/hosts/node-1/workloads", cut), 200);
  const { reason, detail } = await suspicionOf(pod);
  expect(reason).toBe("evidence_stale");
  expect(detail).toContain("or was incomplete");
});

it("on a removed host what names no pod stays, and the host with it, until it is released by its handle", async () => {
  const external = await allocate("external");
  const pod = await stage.pod("node-1", "pod");
  await stage.pass(SETTLED);
  await expectStatus(stage.ops("DELETE", "/v1/hosts/node-1"), 202);
  await stage.pass(MINUTE);
  await stage.sweep();
  await stage.until("the pod's address is freed", async () => {
    await stage.pass(MINUTE);
    await stage.sweep();
    const { items } = (await stage.eyes("GET", "/v1/allocations?host=node-1")).body;
    return !items.some(({ address }: { address: string }) => address === pod);
  });
  const left = (await stage.eyes("GET", "/v1/allocations?host=node-1")).body.items;
  expect(left.map(({ address }: { address: string }) => address)).toEqual([external]);
  expect((await stage.eyes("GET", "/v1/hosts/node-1")).body.state).toBe("removing");
  await expectStatus(stage.ops("POST", "/v1/releases", { handles: ["pods.external"] }), 200);
  await stage.until("the host is over", async () => {
    await stage.pass(MINUTE);
    return (await stage.eyes("GET", "/v1/hosts/node-1")).status === 404;
  });
});

it("a list under a number that was taken is not looked at; an incarnation never heard of takes the host over", async () => {
  const agent = stage.agent("node-1");
  const send = (more: object) =>
    agent("PUT", "/v1/hosts/node-1/workloads", {
      ...{ incarnation: "life-1", sequence: 5, ageMs: 0, complete: true, workloads: [] },
      ...more,
    });
  await expectStatus(send({}), 200);
  const workloads = [{ handle: "pods.a", addresses: [] }, { addresses: [] }];
  await send({ workloads });
  expect((await stage.eyes("GET", "/v1/hosts/node-1")).body.report.workloads).toBe(0);
  await expectStatus(send({ incarnation: "life-2", sequence: 1 }), 200);
  const shut = await expectStatus(send({ sequence: 6 }), 409);
  expect(shut.body).toMatchObject({
    code: "incarnation_conflict",
    hint: expect.stringContaining("See who reports as this host"),
  });
});
