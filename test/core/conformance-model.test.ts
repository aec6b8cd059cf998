/** Every conformance case on the in-memory reference: it passes, or ends as the table says. */
import { describe, expect, test } from "vitest";
import { DEVIATIONS } from "../conformance/deviations.ts";
import { coreCases, entriesFor, runByTables } from "../conformance/driver.ts";
import { modelBackend } from "../conformance/model-backend.ts";

const entries = entriesFor(DEVIATIONS, modelBackend.name);

describe("the model", () => {
  test.each(coreCases().map((one) => [one.id, one] as const))("%s", async (id, one) => {
    const verdict = await runByTables(modelBackend, one);
    expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
    expect(verdict.kind).toBe(entries.has(id) ? "differs" : "pass");
  });
});
