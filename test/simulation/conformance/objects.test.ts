/** Every conformance case on the object classes, through the HTTP face, on the simulated platform. */
import { afterAll, describe, expect, test } from "vitest";
import { apiBackend } from "../../conformance/api-backend.ts";
import { coreCases } from "../../conformance/case-files.ts";
import { runByTable, summary, type Verdict } from "../../conformance/driver.ts";
import { openSimulated } from "./simulated-service.ts";

const backend = apiBackend("objects", openSimulated);
const verdicts = new Map<string, Verdict>();

describe("the objects", () => {
  test.each(coreCases().map((one) => [one.id, one] as const))("%s", async (id, one) => {
    const { verdict, due } = await runByTable(backend, one);
    verdicts.set(id, verdict);
    expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
    expect(verdict.kind).toBe(due);
  });
});

afterAll(() => {
  console.info(summary({ backend: backend.name, verdicts }));
});
