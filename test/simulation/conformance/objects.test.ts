/** Every conformance case on the object classes, through the HTTP face, on the simulated platform. */
import { afterAll, describe, expect, test } from "vitest";
import { apiBackend } from "../../conformance/api-backend.ts";
import { DEVIATIONS } from "../../conformance/deviations.ts";
import {
  coreCases,
  entriesFor,
  runCase,
  runUnbuilt,
  summary,
  type Verdict,
} from "../../conformance/driver.ts";
import { UNBUILT } from "../../conformance/unbuilt.ts";
import { openSimulated } from "./simulated-service.ts";

const backend = apiBackend("objects", openSimulated);
const entries = entriesFor(DEVIATIONS, backend.name);
const unbuilt = entriesFor(UNBUILT, backend.name);
const verdicts = new Map<string, Verdict>();

describe("the objects", () => {
  test.each(coreCases().map((one) => [one.id, one] as const))("%s", async (id, one) => {
    const open = unbuilt.get(id);
    const entry = entries.get(id);
    const verdict = await (open === undefined
      ? runCase(backend, one, entry)
      : runUnbuilt(backend, one, open, entry));
    verdicts.set(id, verdict);
    expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
  });
});

afterAll(() => {
  console.info(summary({ backend: backend.name, verdicts }));
});
