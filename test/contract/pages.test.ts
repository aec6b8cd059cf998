/** The pages of docs and the README: every call that a page shows is one that the service takes, and lines are narrow. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { OPERATIONS } from "../../src/http/routes.ts";

const root = resolve(import.meta.dirname, "../..");
const pages = [
  "README.md",
  "CHANGELOG.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const COLUMNS = 80;
/** What a shell puts into a body: the pages do so with a time only. */
const VARIABLE = /'\$\w+'/g;
const TIME = "2026-11-29T02:51:07.412Z";

interface Shown {
  readonly page: string;
  readonly command: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** The calls of a page's shell examples: `curl … $url/path`, with its options. */
function callsOf(page: string): Shown[] {
  const text = readFileSync(join(root, page), "utf8");
  const shells = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  const commands = shells.flatMap(
    (code) => code.replace(/\\\n/g, " ").match(/\bcurl [^\n]*(?:\n {2,}[^\n]*)*/g) ?? [],
  );
  return commands.flatMap((command) => {
    const target = /\$url(\/[^\s"']*)/.exec(command)?.[1];
    if (target === undefined) return [];
    const json = /--json '([\s\S]*?)'(?=\s|$|\))/.exec(command)?.[1];
    const given = json?.replace(VARIABLE, TIME);
    const method = /-X (\w+)/.exec(command)?.[1] ?? (json === undefined ? "GET" : "POST");
    const [path = "", query = ""] = target.replace(/\)$/, "").split("?");
    const body = given === undefined ? undefined : JSON.parse(given);
    return [{ page, command, method, path, query: new URLSearchParams(query), body }];
  });
}

/** What is looked at of an operation. */
interface Taken {
  readonly method: string;
  readonly path: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
}

function operationOf({ method, path }: Shown): Taken | undefined {
  const isSame = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
  const found = (OPERATIONS as readonly Taken[]).filter(
    (one) => one.method === method.toLowerCase() && isSame(one.path),
  );
  // A fixed path before one with a parameter.
  return found.toSorted((one, other) => Number(one.path.includes("{")) - Number(other.path.includes("{")))[0];
}

describe("the calls that the pages show", () => {
  const calls = pages.flatMap(callsOf);

  it("are found: of the README, of running it, of the collector, of the plugin", () => {
    const count = (page: string) => calls.filter((call) => call.page === page).length;
    expect(count("README.md")).toBeGreaterThan(10);
    expect(count("docs/operations.md")).toBeGreaterThan(20);
    expect(count("docs/leak-collector.md")).toBeGreaterThan(7);
    expect(count("docs/cni.md")).toBe(2);
  });

  it.each(calls.map((call) => [`${call.page}: ${call.command}`, call] as const))("%s", (_, call) => {
    const operation = operationOf(call);
    expect(operation, `${call.method} ${call.path}`).toBeDefined();
    for (const name of call.query.keys())
      expect(Object.keys(operation?.query?.shape ?? {}), name).toContain(name);
    expect(operation?.body === undefined).toBe(call.body === undefined);
    if (call.body !== undefined) expect(operation?.body?.safeParse(call.body).error).toBeUndefined();
  });
});

describe("the pages", () => {
  // The figures of the benchmark are printed by a program.
  it.each(pages.filter((page) => page !== "docs/performance.md"))(
    `%s fits in ${COLUMNS} columns, but for its tables`,
    (page) => {
      const lines = readFileSync(join(root, page), "utf8").split("\n");
      expect(lines.filter((line) => line.length > COLUMNS && !line.startsWith("|"))).toEqual([]);
    },
  );
});
