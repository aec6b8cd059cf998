/** Every conformance case on the in-memory reference: it passes, or ends as the table says. */
import { describe, expect, test } from "vitest";
import { coreCases } from "../conformance/case-files.ts";
import { runByTable } from "../conformance/driver.ts";
import { modelBackend } from "../conformance/model-backend.ts";

describe("the model", () => {
  test.each(coreCases().map((one) => [one.id, one] as const))("%s", async (_id, one) => {
    const { verdict, due } = await runByTable(modelBackend, one);
    expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
    expect(verdict.kind).toBe(due);
  });
});
