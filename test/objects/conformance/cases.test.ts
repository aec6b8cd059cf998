/** Every conformance case on the objects in real workerd, through the HTTP face. */
import { env } from "cloudflare:workers";
import { afterAll, expect, test } from "vitest";
import { refusalOf } from "../../../durable-objects/refusal.ts";
import { createFetch } from "../../../src/http/worker.ts";
import { apiBackend } from "../../conformance/api-backend.ts";
import type { ApiAnswer, Connection } from "../../conformance/api-connection.ts";
import cases from "../../conformance/cases/core.jsonl?raw";
import { parseCases, runByTable, summary, type Verdict } from "../../conformance/driver.ts";
import { testName } from "../../conformance/witnesses.ts";
import { runtimeOf, spaceOf } from "../../support/objects/case-entry.ts";

let opened = 0;

const CONTEXT = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };

/** A deployment that no case has seen: names that were never used before. */
async function open(): Promise<Connection> {
  opened += 1;
  const space = spaceOf(`case-${opened}`);
  const runtime = runtimeOf(env, space);
  const serve = createFetch<Env & { readonly AUTH_MODE: string }>(() => runtime, refusalOf);
  return {
    async send(method, path, body, headers = {}): Promise<ApiAnswer> {
      const json = { "content-type": "application/json", ...headers };
      const content = body === undefined ? { headers } : { headers: json, body: JSON.stringify(body) };
      const request = new Request(`http://service${path}`, { method, ...content });
      const context = CONTEXT as unknown as ExecutionContext;
      const answer = await serve(request, { ...env, AUTH_MODE: "none" }, context);
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
    },
    async advance(seconds) {
      space.offsetMs += seconds * 1000;
    },
    pass,
    async losing(lost, ask) {
      space.lost = lost;
      const { status, body } = await ask();
      space.lost = undefined;
      const isWhole = status < 500 || space.timesLost === 0;
      if (isWhole) throw new Error(`nothing broke off: ${status} ${JSON.stringify(body)}`);
    },
    async quiet() {
      for (let look = 0; look < QUIET_LOOKS_MAX; look += 1) {
        if (space.underWay === 0) return;
        await pass(QUIET_EVERY_MS);
      }
      throw new Error("the objects do not come to rest");
    },
    ports: runtime.ports,
    now: () => space.now(),
    end: async () => {},
  };
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const QUIET_LOOKS_MAX = 20_000;
const QUIET_EVERY_MS = 5;

const backend = apiBackend("objects", open);
const verdicts = new Map<string, Verdict>();

const named = parseCases(cases).map((one) => [testName(one.id), one] as const);

test.concurrent.each(named)("%s", async (_name, one) => {
  const { verdict, due } = await runByTable(backend, one);
  verdicts.set(one.id, verdict);
  expect(verdict.kind === "fail" ? verdict.text : "").toBe("");
  expect(verdict.kind).toBe(due);
});

afterAll(() => {
  console.info(summary({ backend: "objects in workerd", verdicts }));
});
