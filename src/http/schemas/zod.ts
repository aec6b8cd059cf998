/**
 * The only import of the schema library, so that every schema is extended for OpenAPI once.
 * May import: @hono/zod-openapi.
 */
export { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
