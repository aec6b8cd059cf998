/** Releases by address on the HTTP face alone: which objects are asked. */
import { expect, it } from "vitest";
import { definePool } from "../../src/core/pool.ts";
import { fake, NOW } from "./fake-deployment.ts";

const made = definePool("default", { cidr: "10.0.0.0/24", blockSize: 26 }, [], {
  now: NOW,
  by: "test",
  incarnation: 0,
});
if (!made.ok) throw new Error(JSON.stringify(made.error));
const policy = { pools: [made.value] };
const released = (address: string) => ({
  outcomes: [{ kind: "released", address, handle: "h", freeAt: NOW, sequenceNumber: 1 }],
});

it("a block that never was is not asked: a call to its name would make a database", async () => {
  const service = fake({ policy, answers: { "pool.entries": () => ({ entries: [] }) } });
  const addresses = ["10.0.0.1", "10.0.0.70"].map((address) => ({ address, sequenceNumber: 1 }));
  const answer = await service.send("POST", "/v1/releases", { json: { addresses } });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ released: 0, alreadyFree: 2, rejected: 0 });
  expect(service.asked.map(({ method }) => method)).not.toContain("block.releaseAddresses");
});

it("a block that is known is asked at once; one that is not is looked up once", async () => {
  const entry = { block: "10.0.0.0/26", state: "owned", owner: "a", epoch: 1 };
  const service = fake({
    policy,
    answers: {
      "pool.entries": () => ({ entries: [entry] }),
      "block.releaseAddresses": () => released("10.0.0.1"),
    },
  });
  for (let turn = 0; turn < 2; turn += 1) {
    await service.send("DELETE", "/v1/allocations/10.0.0.1?sequenceNumber=1");
  }
  const asked = service.asked.map(({ method }) => method).filter((method) => !method.startsWith("cluster"));
  expect(asked).toEqual(["pool.entries", "block.releaseAddresses", "block.releaseAddresses"]);
});
