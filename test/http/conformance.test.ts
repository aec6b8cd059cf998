/** Every conformance case over HTTP, on services on bare workerd. */
import { afterAll, describe, expect, test } from "vitest";
import { apiBackend } from "../conformance/api-backend.ts";
import { coreCases } from "../conformance/case-files.ts";
import { runByTable, summary, type Verdict } from "../conformance/driver.ts";
import type { Case } from "../conformance/vocabulary.ts";
import { Services } from "./conformance-service.ts";

const services = new Services();
const fresh = apiBackend("http", services.fresh);
const shared = apiBackend("http", services.shared);
const verdicts = new Map<string, Verdict>();

/** Selectors are asked through pools and hosts of their own. */
const maySharePlace = ({ steps }: Case): boolean => steps.every(({ op }) => op === "selector");

const named = coreCases().map((one) => [one.id, one] as const);

async function judge(backend: typeof fresh, id: string, one: Case): Promise<void> {
  const { verdict, due } = await runByTable(backend, one);
  verdicts.set(id, verdict);
  expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
  expect(verdict.kind).toBe(due);
}

describe("a service of its own for each case", () => {
  const alone = named.filter(([, one]) => !maySharePlace(one));
  test.concurrent.each(alone)("%s", (id, one) => judge(fresh, id, one));
});

describe("one service for cases that leave nothing behind, one after the other", () => {
  const together = named.filter(([, one]) => maySharePlace(one));
  test.each(together)("%s", (id, one) => judge(shared, id, one));
});

afterAll(async () => {
  await services.stop();
  console.info(summary({ backend: "http", verdicts }));
});
