/**
 * The HTTP face of the service: routes, pages, and answers for paths and methods that are neither.
 * May import: core, rpc and http. Everything from outside comes by argument.
 */
import { type Context, Hono } from "hono";
import { rejection } from "../core/errors.ts";
import { REQUEST_ID_PATTERN } from "../core/limits.ts";
import { type AuthSettings, createAuthenticator } from "./auth.ts";
import { ACCESS } from "./authorization.ts";
import { directRoutes } from "./direct-route.ts";
import type { Operation } from "./operation.ts";
import { type Assets, PAGE_PATHS, pageFile, pageResponse } from "./pages.ts";
import { type Deployment, serve } from "./pipeline.ts";
import { problemResponse } from "./problem.ts";
import { getMetrics } from "./routes/get-metrics.ts";
import { OPERATIONS, type OperationId } from "./routes.ts";

/** What a deployment gives to its HTTP face. */
export interface AppOptions extends Omit<Deployment, "authenticator"> {
  readonly auth: AuthSettings;
  /** Where the pages are; absent in tests that need none. */
  readonly assets?: Assets;
}

type Served = Operation<OperationId>;
const SERVED: readonly Served[] = OPERATIONS;
const findDirect = directRoutes(SERVED);

/** Path templates and the methods that each takes. */
const METHODS_BY_PATH = methodsByPath();

/** Makes the application. */
export function createApp(options: AppOptions): Hono {
  const deployment: Deployment = { ...options, authenticator: createAuthenticator(options.auth) };
  const app = new Hono();
  const arrived = (request: Request, params: Record<string, string>) => {
    return { request, requestId: requestIdOf(request, options), arrivedAt: options.now(), params };
  };
  const served = (operation: Served, request: Request, params: Record<string, string>) =>
    serve(operation, ACCESS[operation.id], arrived(request, params), deployment);
  for (const operation of SERVED) {
    app.on(operation.method.toUpperCase(), routingPath(operation.path), (c) =>
      served(operation, c.req.raw, c.req.param() as Record<string, string>),
    );
  }
  app.get(getMetrics.path, (c) => serve(getMetrics, "reader", arrived(c.req.raw, {}), deployment));
  for (const path of PAGE_PATHS) app.get(routingPath(path), (c) => page(c, options));
  app.notFound((c) => notServed(c, options));
  app.onError((error, c) => defect(error, c.req.raw, options));
  const routed = app.fetch;
  app.fetch = (request, ...rest) => {
    const direct = findDirect(request.method, request.url);
    if (direct === undefined) return routed(request, ...rest);
    return served(direct.operation, request, direct.params).catch((error: unknown) =>
      defect(error, request, options),
    );
  };
  return app;
}

function defect(error: unknown, request: Request, options: AppOptions): Response {
  const requestId = requestIdOf(request, options);
  options.report(requestId, error);
  return problemResponse(rejection("internal_error", {}), requestId);
}

/** The caller's own request id where it is well-formed, else a new one. */
function requestIdOf(request: Request, options: AppOptions): string {
  const own = request.headers.get("x-request-id");
  return own !== null && REQUEST_ID_PATTERN.test(own) ? own : options.unique();
}

async function page(c: Context, options: AppOptions): Promise<Response> {
  const requestId = requestIdOf(c.req.raw, options);
  const file = pageFile(c.req.path);
  const found =
    file === undefined || options.assets === undefined
      ? undefined
      : await pageResponse(file, options.assets, requestId);
  return found ?? problemResponse(rejection("route_not_found", {}), requestId);
}

/** Tells a path that is not there from a method that the path does not take. */
function notServed(c: Context, options: AppOptions): Response {
  const requestId = requestIdOf(c.req.raw, options);
  const { pathname } = new URL(c.req.url);
  const methods = METHODS_BY_PATH.find(({ template }) => template.test(pathname))?.methods;
  if (methods === undefined) return problemResponse(rejection("route_not_found", {}), requestId);
  return problemResponse(rejection("method_not_allowed", {}), requestId, {}, { Allow: methods.join(", ") });
}

function routingPath(path: string): string {
  return path.replaceAll(/\{([^}]+)\}/g, ":$1");
}

function templateOf(path: string): RegExp {
  const escaped = path.replaceAll(/[.]/g, "\\.").replaceAll(/\{[^}]+\}/g, "[^/]+");
  return new RegExp(`^${escaped}$`);
}

function methodsByPath(): readonly { template: RegExp; methods: string[] }[] {
  const methods = new Map<string, string[]>();
  const add = (path: string, ...names: string[]) =>
    methods.set(path, [...(methods.get(path) ?? []), ...names]);
  for (const { method, path } of SERVED) {
    add(path, ...(method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  }
  for (const path of [getMetrics.path, ...PAGE_PATHS]) add(path, "GET", "HEAD");
  return [...methods].map(([path, names]) => ({ template: templateOf(path), methods: names }));
}
