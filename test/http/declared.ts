/**
 * Holds each answer of a generated client to the document: its status, its type, every member of its body.
 * May import: the document and its schemas. Rule: what is not declared is a fault, not something more.
 */
import type { Middleware } from "openapi-fetch";
import { expect } from "vitest";
import { apiDocument } from "../../src/http/document.ts";
import { type ComponentName, components } from "../../src/http/schemas/components.ts";

type Media = Record<string, { schema: { $ref: string } }>;

interface Declared {
  readonly operationId: string;
  readonly responses: Record<string, { readonly content?: Media }>;
}

const { paths } = apiDocument();

/** What the document says of an operation; `undefined` for what is no operation. */
function declared(method: string, path: string): Declared | undefined {
  return paths[path]?.[method.toLowerCase()] as Declared | undefined;
}

/** The ids of all operations of the document. */
export function operationIds(): string[] {
  return Object.values(paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => String(operationId)),
  );
}

/** Checks every answer, and notes in `called` which operation was answered with which status. */
export function heldToDocument(called: Map<string, Set<number>>): Middleware {
  return {
    async onResponse({ request, response, schemaPath }) {
      const operation = declared(request.method, schemaPath);
      const what = `${request.method} ${schemaPath} answered ${response.status}`;
      expect(operation, what).toBeDefined();
      const { operationId, responses } = operation!;
      called.set(operationId, (called.get(operationId) ?? new Set()).add(response.status));
      expect(Object.keys(responses), what).toContain(String(response.status));
      const body = await response.clone().text();
      const content = Object.entries(responses[response.status]?.content ?? {})[0];
      if (content === undefined) {
        expect(body, what).toBe("");
        return;
      }
      const [type, { schema }] = content;
      expect(response.headers.get("content-type"), what).toBe(type);
      const name = schema.$ref.split("/").at(-1) as ComponentName;
      const parsed = components[name].safeParse(JSON.parse(body));
      expect(parsed.error?.issues ?? [], `${what}: ${body}`).toEqual([]);
      // A schema leaves out what it does not name: a member that is lost was never declared.
      expect(parsed.data, what).toEqual(JSON.parse(body));
    },
  };
}
