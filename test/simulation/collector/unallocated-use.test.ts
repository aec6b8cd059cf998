/** Addresses that an agent sees in use and its host does not hold: what the service knows of each. */
import { expect, test } from "vitest";
import { staged } from "./host-stage.ts";

const USED = ["10.0.0.0", "10.0.0.9", "192.0.2.7"];

test("are told with who holds them, of a block that another owns too", async () => {
  const stage = await staged();
  await stage.pod("a", "theirs", { handle: "net.theirs" });
  await stage.pod("b", "mine", { handle: "net.mine" });
  const workloads = [{ namespace: "web", pod: "mine", addresses: USED }];
  expect(await stage.reported("b", [], { workloads })).toMatchObject({
    value: {
      addressesNotAllocated: [
        { address: "10.0.0.0", state: "allocated", handle: "net.theirs", holder: "a" },
        { address: "10.0.0.9", state: "free" },
        { address: "192.0.2.7", state: "not_in_any_pool" },
      ],
    },
  });
});
