/**
 * The audit of one host by what its agent reports: suspected, confirmed, released, and what stops it.
 */
import { describe, expect, test } from "vitest";
import { HOST_A } from "../histories/stage.ts";
import { staged } from "./host-stage.ts";

const BLOCK = "10.0.0.0/26";
const MINUTE = 60_000;

describe("a pod that is gone", () => {
  test("I11: is suspected, confirmed after the grace, and released by a third report", async () => {
    const stage = await staged();
    await stage.pod("a", "lives");
    await stage.pod("a", "gone");
    expect(await stage.held(BLOCK)).toHaveLength(2);
    expect(await stage.reported("a", ["lives", "gone"])).toMatchObject({ ok: true });
    await stage.reports("a", ["lives"], 3 * MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
    await stage.reports("a", ["lives"], 2 * MINUTE, 2 * MINUTE, 2 * MINUTE, 2 * MINUTE, MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 candidate grace_period"]);
    await stage.reports("a", ["lives"], 2 * MINUTE);
    expect(await stage.leaks("a")).toEqual(["10.0.0.1 confirmed awaiting_recheck"]);
    expect(await stage.held(BLOCK)).toHaveLength(2);
    const last = await stage.reports("a", ["lives"], MINUTE);
    expect(await stage.held(BLOCK)).toEqual(["10.0.0.0 net.lives"]);
    expect(await stage.leaks("a")).toEqual([]);
    expect(last).toMatchObject({
      ok: true,
      value: { accepted: true, leaks: { candidates: 0, confirmed: 0, held: 0 } },
    });
    expect(stage.world.rows(HOST_A, "SELECT * FROM reclaimed")).toEqual([{ pool: "default", addresses: 1 }]);
  });
});
