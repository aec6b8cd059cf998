/** Finds the cases in their files. May import: Node's files, the driver. */
import { readFileSync } from "node:fs";
import { parseCases } from "./driver.ts";
import type { Case } from "./vocabulary.ts";

/** Reads a file of cases. */
export function readCases(file: string): Case[] {
  return parseCases(readFileSync(file, "utf8"));
}

/** The cases of the allocation core. */
export function coreCases(): Case[] {
  return readCases(new URL("./cases/core.jsonl", import.meta.url).pathname);
}
