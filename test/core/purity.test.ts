/** The core is pure: it imports only itself, and asks no clock, no chance and no console. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const folder = new URL("../../src/core/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));

/** What a file imports that is not a file beside it, and what it uses of the outside world. */
function impurities(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
  const imports = [...code.matchAll(/\b(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map(
    (found) => found[1] ?? "",
  );
  const foreign = imports.filter((path) => !/^\.\/[a-z0-9-]+\.ts$/.test(path));
  const outside =
    /\b(?:Date\b|Math\.random|performance\.|crypto\.|console\.|globalThis|process\.|fetch\(|setTimeout|setInterval|queueMicrotask)/g;
  return [...foreign, ...(code.match(outside) ?? [])];
}

describe("src/core", () => {
  it("has files to look at", () => expect(files.length).toBeGreaterThan(10));

  it.each(files)("%s is pure", (name) => {
    expect(impurities(readFileSync(new URL(name, folder), "utf8"))).toEqual([]);
  });

  it.each([
    ['import { z } from "zod";', "zod"],
    ['import { x } from "../rpc/host.ts";', "../rpc/host.ts"],
    ['import "./policy";', "./policy"],
    ['export * from "cloudflare:workers";', "cloudflare:workers"],
    ['const x = await import("node:fs");', "node:fs"],
    ["const now = Date.now();", "Date"],
    ["const chance = Math.random();", "Math.random"],
    ["console.log(1);", "console."],
  ])("a file with %s would be found", (source, found) => {
    expect(impurities(source)).toContain(found);
  });
});
