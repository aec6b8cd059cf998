/** Every conformance case over HTTP, on services on bare workerd. */
import { afterAll, describe, expect, test } from "vitest";
import { apiBackend } from "../conformance/api-backend.ts";
import { coreCases, runByTables, summary, type Verdict } from "../conformance/driver.ts";
import type { Case } from "../conformance/vocabulary.ts";
import { Services } from "./conformance-service.ts";

const services = new Services();
const fresh = apiBackend("http", services.fresh);
const shared = apiBackend("http", services.shared);
const verdicts = new Map<string, Verdict>();

/** Selectors are asked through pools and hosts of their own. */
const maySharePlace = ({ steps }: Case): boolean => steps.every(({ op }) => op === "selector");

describe("the service", () => {
  test.each(coreCases().map((one) => [one.id, one] as const))("%s", async (id, one) => {
    const verdict = await runByTables(maySharePlace(one) ? shared : fresh, one);
    verdicts.set(id, verdict);
    expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
  });
});

afterAll(async () => {
  await services.stop();
  console.info(summary({ backend: "http", verdicts }));
});
