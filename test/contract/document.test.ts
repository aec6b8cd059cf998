/** The API document against its contract, and against the rules that generated clients need. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { apiDocument } from "../../src/http/document.ts";
import { OPERATIONS } from "../../src/http/routes.ts";
import { type ComponentName, components } from "../../src/http/schemas/components.ts";
import {
  contract,
  differences,
  type Json,
  type JsonObject,
  operationsOf,
  ours,
  referenced,
} from "./contract.ts";

const root = resolve(import.meta.dirname, "../..");

describe("the document and the contract", () => {
  it("differ only as docs/api-differences.md says", () => {
    const text = readFileSync(join(root, "docs/api-differences.md"), "utf8");
    const listed = [...text.matchAll(/^\| (.+?) \|/gm)]
      .map(([, first]) => first)
      .filter((first) => first !== "difference");
    expect(differences(ours, contract)).toEqual(listed);
  });

  it("are compared: a changed status, shape, parameter or path is found", () => {
    const changed = structuredClone(ours) as never as Record<string, Record<string, JsonObject>>;
    const document = changed as never as typeof ours;
    const allocate = document.paths["/v1/allocations"]?.post as JsonObject;
    delete (allocate.responses as JsonObject)["409"];
    const getPool = document.paths["/v1/pools/{pool}"]?.get as JsonObject;
    (getPool.parameters as JsonObject[])[0] = { name: "other", in: "path" };
    const host = document.components.schemas.Host?.properties as JsonObject;
    delete host.labels;
    document.paths["/v1/other"] = { get: document.paths["/v1/config"]?.get ?? {} };
    delete document.paths["/v1/config"]?.get;
    const found = differences(document, contract);
    expect(found).toContain("allocate: responses");
    expect(found).toContain("getPool: parameters");
    expect(found).toContain("Host: shape");
    expect(found).toContain("getConfig: get /v1/other");
  });

  it("hold every operation that is served, and no other", () => {
    const served = OPERATIONS.map(({ id }) => id).toSorted();
    expect(
      operationsOf(ours)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(served);
  });
});

describe("the examples of the contract", () => {
  const examples = JSON.parse(
    readFileSync(join(import.meta.dirname, "contract.examples.json"), "utf8"),
  ) as Record<string, unknown>;

  for (const [name, example] of Object.entries(examples)) {
    if (!Object.hasOwn(components, name)) continue;
    it(`${name} is valid here`, () => {
      const parsed = components[name as ComponentName].safeParse(example);
      expect(parsed.error?.issues ?? []).toEqual([]);
      // What is parsed loses nothing: an answer keeps every member, a request is understood whole.
      expect(parsed.data).toEqual(example);
    });
  }
});

describe("the document", () => {
  it("is openapi.yaml as committed", () => {
    expect(parse(readFileSync(join(root, "openapi.yaml"), "utf8"))).toEqual(ours);
  });

  it("is valid OpenAPI 3.0.3", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(ours));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("differs from its 3.1 form in the version string only", () => {
    expect({ ...apiDocument("3.1.0"), openapi: "3.0.3" }).toEqual({ ...ours });
  });
});

/** Every object of a document with the path to it. */
function* objectsOf(value: Json, path: string[] = []): Generator<[JsonObject, string[]]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [value, path];
  for (const [key, member] of Object.entries(value)) yield* objectsOf(member as Json, [...path, key]);
}

/** Objects that are schemas or parameters, not maps of names. */
function schemasOf(value: unknown): [JsonObject, string][] {
  return [...objectsOf(value as Json)]
    .filter(([, path]) => path.at(-1) !== "properties")
    .map(([object, path]) => [object, path.join("/")]);
}

describe("the dialect", () => {
  const operations = operationsOf(ours);
  const { schemas } = ours.components;
  const bodies = operations.map(({ value }) => value.requestBody).filter((body) => body !== undefined);
  const answers = operations.map(({ value }) => value.responses);
  const requestNames = referenced(ours, bodies);
  const answerNames = referenced(ours, answers);

  it("D1: every operation has its own operationId and one tag", () => {
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
    for (const { id, value } of operations) {
      expect(id).toMatch(/^[a-z][A-Za-z]+$/);
      expect(value.tags).toHaveLength(1);
    }
  });

  it("D2: every body, answer and nested object is a named component", () => {
    const contents = [...objectsOf({ bodies, answers } as never)]
      .filter(([, path]) => path.at(-2) === "content")
      .map(([media]) => media.schema as JsonObject);
    expect(contents.length).toBeGreaterThan(operations.length);
    for (const schema of contents) expect(Object.keys(schema)).toEqual(["$ref"]);
    for (const [name, schema] of Object.entries(schemas)) {
      for (const [nested, path] of schemasOf(schema.properties)) {
        expect(nested.properties, `${name}/${path}`).toBeUndefined();
      }
    }
  });

  it("D3: sets of words are closed in requests only", () => {
    for (const name of answerNames) {
      for (const [schema, path] of schemasOf(schemas[name])) {
        if (schema.type === "string") expect(schema.enum, `${name}/${path}`).toBeUndefined();
      }
    }
    const closed = [...requestNames].flatMap((name) => schemasOf(schemas[name])).filter(([one]) => one.enum);
    expect(closed.length).toBeGreaterThan(0);
  });

  it("D4: nothing is composed", () => {
    for (const [schema, path] of schemasOf(ours)) {
      for (const key of ["oneOf", "anyOf", "allOf", "not", "discriminator"]) {
        expect(schema[key], `${path}/${key}`).toBeUndefined();
      }
    }
  });

  it("D5: no field of a body has a default", () => {
    for (const [schema, path] of schemasOf(schemas)) expect(schema.default, path).toBeUndefined();
  });

  it("D6: every status is explicit", () => {
    for (const responses of answers) {
      for (const status of Object.keys(responses as JsonObject)) expect(status).toMatch(/^[2-5]\d\d$/);
    }
  });

  it("D7: no path has a verb after a colon", () => {
    for (const { path } of operations) expect(path).not.toContain(":");
  });

  it("D8: queries are flat, GET and DELETE have no body, path values are one segment", () => {
    for (const { method, value } of operations) {
      if (method === "get" || method === "delete") expect(value.requestBody).toBeUndefined();
      for (const parameter of (value.parameters ?? []) as JsonObject[]) {
        const { type } = parameter.schema as JsonObject;
        expect(["string", "integer", "boolean"]).toContain(type);
        expect(parameter.explode ?? parameter.style ?? null).toBeNull();
      }
    }
  });

  it("D9: no null, const, type list or exclusive bound", () => {
    for (const [schema, path] of schemasOf(ours)) {
      for (const key of ["nullable", "const", "exclusiveMinimum", "exclusiveMaximum"]) {
        expect(schema[key], `${path}/${key}`).toBeUndefined();
      }
      expect(Array.isArray(schema.type), path).toBe(false);
    }
  });

  it("D10: int64 ends at 2^53 - 1; only requests refuse what they do not know", () => {
    for (const [schema, path] of schemasOf(ours)) {
      if (schema.format === "int64") expect(schema.maximum, path).toBe(2 ** 53 - 1);
    }
    for (const name of answerNames) expect(schemas[name]?.additionalProperties, name).not.toBe(false);
    for (const name of requestNames) expect(schemas[name]?.additionalProperties, name).toBe(false);
  });
});
