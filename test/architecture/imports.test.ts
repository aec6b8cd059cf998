/**
 * The dependency rule: reads every import of src/ and durable-objects/ against a table.
 * Types count too: what a file names, it depends on.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/**
 * What the files of each part may import: parts of ours, and packages.
 * A part that is not listed here may not exist.
 */
const table: Record<string, { parts: string[]; packages: string[] }> = {
  core: { parts: ["core"], packages: ["ipaddr.js"] },
  rpc: { parts: ["core", "rpc"], packages: [] },
  platform: { parts: ["platform"], packages: [] },
  http: { parts: ["core", "rpc", "platform", "http"], packages: ["hono", "@hono/zod-openapi"] },
  gc: { parts: ["core", "rpc", "gc"], packages: [] },
  client: { parts: ["core", "rpc", "client"], packages: [] },
  cli: { parts: ["core", "rpc", "client", "cli"], packages: ["node:"] },
  cni: { parts: ["core", "rpc", "client", "cni"], packages: ["node:", "esbuild"] },
  tools: {
    parts: ["core", "rpc", "http", "client", "tools"],
    packages: ["node:", "esbuild", "yaml", "swagger-ui-dist", "@seriousme/openapi-schema-validator"],
  },
  "durable-objects": { parts: ["core", "rpc", "platform", "durable-objects"], packages: ["cloudflare:"] },
  "index.ts": {
    parts: ["core", "rpc", "platform", "http", "gc", "durable-objects"],
    packages: ["cloudflare:", "hono"],
  },
};

/** `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")`. */
const importPattern = /(?:\bfrom\s*|^\s*import\s*|\bimport\s*\(\s*)"([^"]+)"/gm;

/** The part that a file belongs to, by its path from the root of the repository. */
function partOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === "src" ? second : first;
}

function without(text: string, ...comments: RegExp[]): string {
  return comments.reduce((rest, comment) => rest.replace(comment, ""), text);
}

/** The imports of a file that the table does not allow, in words. */
function violations(path: string, text: string): string[] {
  const part = partOf(path);
  const allowed = table[part];
  if (allowed === undefined) {
    return [`${path}: the part ${part} is not in the table`];
  }
  const code = without(text, /\/\*[\s\S]*?\*\//g, /^\s*\/\/.*$/gm);
  return [...code.matchAll(importPattern)].flatMap(([, name = ""]) => {
    if (name.startsWith(".")) {
      const target = relative(root, resolve(root, dirname(path), name));
      return allowed.parts.includes(partOf(target)) ? [] : [`${path}: ${part} must not import ${target}`];
    }
    const isAllowed = allowed.packages.some(
      (pattern) => name === pattern || name.startsWith(pattern.endsWith(":") ? pattern : `${pattern}/`),
    );
    return isAllowed ? [] : [`${path}: ${part} must not import the package ${name}`];
  });
}

function sourceFiles(): string[] {
  return ["src", "durable-objects"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
      .map((name) => `${folder}/${name}`),
  );
}

describe("the dependency rule", () => {
  it("holds for every import of src/ and durable-objects/", () => {
    const files = sourceFiles();
    expect(files).toContain("src/core/result.ts");
    expect(files.flatMap((path) => violations(path, readFileSync(join(root, path), "utf8")))).toEqual([]);
  });

  it.each([
    ["src/core/block.ts", 'import { x } from "../rpc/block.ts";'],
    ["src/core/block.ts", 'import type { X } from "../http/app.ts";'],
    ["src/core/block.ts", 'import { DurableObject } from "cloudflare:workers";'],
    ["src/core/block.ts", 'import { readFileSync } from "node:fs";'],
    ["src/core/block.ts", 'export * from "../platform/retry.ts";'],
    ["src/core/block.ts", 'const x = await import("../http/app.ts");'],
    ["src/core/block.ts", 'let x: import("../http/app.ts").App;'],
    ["src/core/block.ts", 'import {\n  a,\n  b,\n} from "hono";'],
    ["src/rpc/block.ts", 'import "../http/app.ts";'],
    ["src/http/app.ts", 'import { BlockObject } from "../../durable-objects/block.ts";'],
    ["src/http/app.ts", 'import { x } from "hono-other";'],
    ["src/platform/retry.ts", 'import { ok } from "../core/result.ts";'],
    ["src/client/client.ts", 'import { createApp } from "../http/app.ts";'],
    ["src/cni/add.ts", 'import { createApp } from "../http/app.ts";'],
    ["durable-objects/block.ts", 'import { createApp } from "../src/http/app.ts";'],
    ["durable-objects/storage/schema.ts", 'import { readFileSync } from "node:fs";'],
    ["src/index.ts", 'import { startService } from "../test/support/service.ts";'],
    ["src/misc/other.ts", ""],
  ])("would notice a violation in %s: %s", (path, text) => {
    expect(violations(path, text)).toHaveLength(1);
  });

  it.each([
    ["src/core/block.ts", 'import { ok } from "./result.ts";'],
    [
      "src/http/routes/get-host.ts",
      'import { z } from "@hono/zod-openapi";\nimport { Hono } from "hono/tiny";',
    ],
    ["durable-objects/storage/schema.ts", 'import { ok } from "../../src/core/result.ts";'],
    ["src/core/block.ts", '// import { x } from "../http/app.ts";\n/* from "../http/app.ts" */'],
  ])("allows %s: %s", (path, text) => {
    expect(violations(path, text)).toEqual([]);
  });
});
