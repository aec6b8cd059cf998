/**
 * The API document, made from the same operations that are served.
 * May import: core and http. Used at build only; the Worker's bundle does not hold it.
 */
import type { Access } from "./authorization.ts";
import { ACCESS } from "./authorization.ts";
import type { CommonCode, Operation, Tag } from "./operation.ts";
import { statusOf } from "./problem.ts";
import { OPERATIONS, type OperationId } from "./routes.ts";
import { components } from "./schemas/components.ts";
import { headerSchemas } from "./schemas/headers.ts";
import { OpenAPIHono, z } from "./schemas/zod.ts";

const TAGS: readonly Tag[] = [
  "system",
  "config",
  "pools",
  "reservations",
  "hosts",
  "allocations",
  "blocks",
  "gc",
  "operations",
];

/** What a status means, whatever the operation. */
const DESCRIPTIONS: Record<number, string> = {
  200: "OK",
  201: "Created",
  204: "No content",
  304: "Not modified",
  400: "Invalid request",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  409: "Refused: the state does not allow it",
  412: "Revision does not match",
  413: "Body too large",
  415: "Not JSON",
  422: "Idempotency key reused",
  429: "Too many requests from this caller",
  503: "Not now",
};

/** Codes that every authenticated operation may answer with. */
const AUTHENTICATED: readonly (CommonCode | "not_authenticated" | "rate_limited")[] = [
  "invalid_request",
  "not_authenticated",
  "role_insufficient",
  "rate_limited",
  "overloaded",
];

const HEAD = {
  info: {
    title: "edge-ipam",
    version: "1.0.0",
    description: "IP address manager",
    license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
  },
  servers: [{ url: "http://127.0.0.1:8787" }],
  security: [{ bearer: [] }],
  tags: TAGS.map((name) => ({ name })),
};

/** An API document as plain data. */
export type ApiDocument = Record<string, unknown> & {
  readonly paths: Record<string, Record<string, Record<string, unknown>>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
};

/** Makes the document, as 3.0.3 or as 3.1.0. Invariant: the two differ in the version alone. */
export function apiDocument(version: "3.0.3" | "3.1.0" = "3.0.3"): ApiDocument {
  const app = new OpenAPIHono();
  for (const [name, schema] of Object.entries(components)) app.openAPIRegistry.register(name, schema);
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  for (const operation of OPERATIONS as readonly Operation<OperationId>[]) {
    app.openAPIRegistry.registerPath(routeOf(operation, ACCESS[operation.id]));
  }
  const document =
    version === "3.0.3"
      ? app.getOpenAPIDocument({ openapi: version, ...HEAD })
      : app.getOpenAPI31Document({ openapi: version, ...HEAD });
  // The 3.1 generator adds an empty map that 3.0 does not know.
  const { webhooks: _empty, ...plain } = JSON.parse(JSON.stringify(document)) as ApiDocument;
  return plain as ApiDocument;
}

type Route = Parameters<OpenAPIHono["openAPIRegistry"]["registerPath"]>[0];

function routeOf(operation: Operation<OperationId>, access: Access): Route {
  const { id, method, path, tag, summary, params, query, headers = [], body } = operation;
  const named = Object.fromEntries(headers.map((name) => [name, headerSchemas[name]]));
  return {
    operationId: id,
    method,
    path,
    tags: [tag],
    summary,
    ...(access === "open" ? { security: [] } : {}),
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(headers.length === 0 ? {} : { headers: z.object(named) }),
      ...(body === undefined
        ? {}
        : { body: { required: true, content: { "application/json": { schema: body } } } }),
    },
    responses: responsesOf(operation, access),
  };
}

/** Answers and refusals by status; refusals come from the codes that the operation may answer. */
function responsesOf(operation: Operation, access: Access): Route["responses"] {
  const responses: Route["responses"] = {};
  for (const [status, schema] of Object.entries(operation.answers)) {
    const description = DESCRIPTIONS[Number(status)] ?? "";
    responses[status] =
      schema === null ? { description } : { description, content: { "application/json": { schema } } };
  }
  const refused = [
    ...operation.refusals.map(statusOf),
    ...(access === "open" ? [] : AUTHENTICATED.map(statusOf)),
    ...(operation.body === undefined ? [] : [statusOf("body_too_large"), statusOf("unsupported_media_type")]),
    ...(operation.laterStatuses ?? []),
  ];
  for (const status of [...new Set(refused)].toSorted((one, other) => one - other)) {
    responses[status] = {
      description: DESCRIPTIONS[status] ?? "",
      content: { "application/problem+json": { schema: components.Problem } },
    };
  }
  return responses;
}
