/** A client that waits as long as it is told: whatever an earlier attempt left open has ended by then. */
import { expect, test } from "vitest";
import { EDGE_SETTINGS, LOCAL_SETTINGS } from "../../../src/core/settings.ts";
import { openSimulated } from "../conformance/simulated-service.ts";

test.each([
  ["on one machine", LOCAL_SETTINGS],
  ["on many machines", EDGE_SETTINGS],
])("in_progress ends after Retry-After, %s", async (_where, settings) => {
  const service = await openSimulated({ settings });
  const must = async (method: string, path: string, body?: unknown): Promise<void> => {
    const { status } = await service.send(method, path, body);
    expect(status).toBeLessThan(300);
  };
  for (const host of ["a", "b"]) await must("PUT", `/v1/hosts/${host}`, { labels: {} });
  await must("PUT", "/v1/pools/narrow", { cidr: "10.0.0.0/30", blockSize: 31 });
  await must("POST", "/v1/allocations", { host: "b", handle: "first", ipv4: { count: 1 } });
  // Host b does not hear that the rest of its block is taken: the key is entered there, in vain.
  for (const address of ["10.0.0.0", "10.0.0.1", "10.0.0.3"]) {
    await must("PUT", `/v1/allocations/${address}`, { host: "a", handle: address });
  }
  const body = { host: "b", handle: "later", ipv4: { count: 1 } };
  const ask = () => service.send("POST", "/v1/allocations", body, { "idempotency-key": "the-same-key" });
  expect((await ask()).body).toMatchObject({ code: "pool_exhausted" });
  await must("DELETE", "/v1/handles/10.0.0.0");
  const early = await ask();
  expect(early.body).toMatchObject({ code: "in_progress" });
  await service.advance(early.body.retryAfterSeconds);
  expect((await ask()).body).toMatchObject({ allocations: [{ address: "10.0.0.0" }] });
});
