/** A block that was given up and has lost its last tenant: it gives nothing until its addresses have cooled. */
import { expect, test } from "vitest";
import { Face } from "./face.ts";

const BLOCK = "10.0.0.0/28";
const COOLDOWN_SECONDS = 60;

/** A block without owner or tenant, whose one used address cools. */
async function emptied(): Promise<Face> {
  const face = await Face.open(["a", "b"]);
  await face.must("PUT", "/v1/pools/four", { cidr: BLOCK, blockSize: 28 });
  await face.must("PATCH", "/v1/config", { ipCooldownSeconds: COOLDOWN_SECONDS });
  await face.must("PUT", "/v1/allocations/10.0.0.1", { host: "a", handle: "h" });
  await face.must("POST", "/v1/affinity-releases", { host: "a", mustBeEmpty: false });
  await face.must("DELETE", "/v1/handles/h");
  return face;
}

const assign = (face: Face, address: string, host: string) =>
  face.send("PUT", `/v1/allocations/${address}`, { host, handle: `of-${address}` });

test.each(["a", "b"])(
  "without strict affinity, exact assignment to %s waits for the cooldown, and is told how long",
  async (host) => {
    const face = await emptied();
    const used = await assign(face, "10.0.0.1", host);
    expect([used.status, used.body.code]).toEqual([409, "address_cooling"]);
    const other = await assign(face, "10.0.0.2", host);
    expect([other.status, other.body.code]).toEqual([409, "address_cooling"]);
    expect(other.body.evidence.freeAt).toBe(used.body.evidence.freeAt);
    await face.world.advance(COOLDOWN_SECONDS * 1000);
    for (const address of ["10.0.0.1", "10.0.0.2"])
      expect((await assign(face, address, host)).status).toBe(201);
  },
);

test("I8: with strict affinity the address lies outside the host's blocks", async () => {
  const face = await emptied();
  await face.must("PATCH", "/v1/config", { strictAffinity: true });
  const { status, body } = await assign(face, "10.0.0.1", "a");
  expect([status, body.code]).toEqual([409, "address_outside_affinity"]);
});
