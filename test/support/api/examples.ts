/**
 * What docs/clients.md shows of the client in use; test/http/client.test.ts runs each on the service.
 * May import: the client. Rule: the page quotes these functions word for word.
 */
import { type Api, accepted, everyItem, settle } from "./client.ts";

/** One address of each family for an interface, however often the answer is lost. */
export async function allocateOnce(api: Api, host: string, handle: string, device: string) {
  const header = { "Idempotency-Key": `${handle}.${device}` };
  const body = { host, handle, ipv4: { count: 1 }, ipv6: { count: 1 } };
  const { allocations } = await accepted(
    settle(() => api.POST("/v1/allocations", { params: { header }, body }), 60_000),
  );
  return allocations.map(({ interfaceAddress, gateway }) => ({ interfaceAddress, gateway }));
}

/** Gives back what a handle holds; nothing held is success too. */
export async function releaseAll(api: Api, handle: string) {
  const result = await accepted(
    settle(() => api.POST("/v1/releases", { body: { handles: [handle] } }), 60_000),
  );
  return result.rejected === 0;
}

/** Every address that is held for a host. */
export async function addressesOf(api: Api, host: string) {
  const query = { host, limit: 1000 };
  const addresses: string[] = [];
  for await (const { address } of everyItem((from) =>
    api.GET("/v1/allocations", { params: { query: { ...query, ...from } } }),
  )) {
    addresses.push(address);
  }
  return addresses;
}

/** Changes a pool only if nobody else changed it since it was read; else reads it again. */
export async function describePool(api: Api, pool: string, change: (description: string) => string) {
  const path = { pool };
  for (let tries = 0; tries < 5; tries += 1) {
    const read = await api.GET("/v1/pools/{pool}", { params: { path } });
    const body = { description: change((await accepted(read)).description ?? "") };
    const header = { "If-Match": read.response.headers.get("etag") ?? "" };
    const written = await api.PATCH("/v1/pools/{pool}", { params: { path, header }, body });
    if (written.error?.code !== "revision_mismatch") return await accepted(written);
  }
  throw new Error(`${pool} is written by others all the time`);
}
