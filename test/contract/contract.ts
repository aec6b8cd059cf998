/** The contract and the document side by side, in one normal form. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type ApiDocument, apiDocument } from "../../src/http/document.ts";

export const contract = parse(
  readFileSync(join(import.meta.dirname, "contract.openapi.yaml"), "utf8"),
) as ApiDocument;
export const ours = apiDocument();

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

const WORDS = new Set(["description", "summary", "example"]);

/** Sorts keys and leaves out words; `required: false` says what its absence says. */
export function normal(value: Json, isNameMap = false): Json {
  if (Array.isArray(value)) return value.map((item) => normal(item));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value)
    .filter(([key, member]) => isNameMap || !(WORDS.has(key) && typeof member !== "object"))
    .filter(([key, member]) => isNameMap || !(key === "required" && member === false))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, member]): [string, Json] => {
      if (key === "required" && Array.isArray(member)) return [key, (member as string[]).toSorted()];
      return [key, normal(member, !isNameMap && key === "properties")];
    });
  return Object.fromEntries(members);
}

/** One operation of a document. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly value: JsonObject;
}

/** Lists the operations of a document. */
export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, value]) => ({
      id: String(value.operationId),
      method,
      path,
      value: value as JsonObject,
    })),
  );
}

/** Names of the components that a value refers to, directly or not. */
export function referenced(document: ApiDocument, value: unknown, found = new Set<string>()): Set<string> {
  const text = JSON.stringify(value) ?? "";
  for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    referenced(document, document.components.schemas[name], found);
  }
  return found;
}

/** Says in words how the document differs from the contract, for what is built. */
export function differences(document: ApiDocument, from: ApiDocument): string[] {
  const found: string[] = [];
  const theirs = new Map(operationsOf(from).map((one) => [one.id, one]));
  const same = (one: unknown, other: unknown) =>
    JSON.stringify(normal(one as Json)) === JSON.stringify(normal(other as Json));
  for (const { id, method, path, value } of operationsOf(document)) {
    const expected = theirs.get(id);
    if (expected === undefined) {
      found.push(`${id}: not in the contract`);
      continue;
    }
    if (expected.method !== method || expected.path !== path) found.push(`${id}: ${method} ${path}`);
    const parameters = (one: JsonObject) =>
      ((one.parameters ?? []) as JsonObject[]).toSorted((a, b) =>
        `${a.in} ${a.name}` < `${b.in} ${b.name}` ? -1 : 1,
      );
    if (!same(parameters(value), parameters(expected.value))) found.push(`${id}: parameters`);
    for (const part of ["tags", "requestBody", "responses", "security"]) {
      if (!same(value[part] ?? null, expected.value[part] ?? null)) found.push(`${id}: ${part}`);
    }
  }
  for (const name of referenced(document, document.paths)) {
    if (!same(document.components.schemas[name], from.components.schemas[name])) found.push(`${name}: shape`);
  }
  return found;
}
