/**
 * The pages and documents that are files: made at build, handed out by the platform's asset service.
 * May import: http. Only listed paths lead to a file; content types are ours, since a plain folder has none.
 */
import { PROBLEMS } from "./problem.ts";

/** Whatever hands out files by path: an assets binding, or a disk service. */
export interface Assets {
  fetch(request: Request): Promise<Response>;
}

const CONTENT_TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  yaml: "application/yaml",
};

/** Paths that lead to one file each. */
const FILES: Record<string, string> = {
  "/": "index.html",
  "/docs": "docs/index.html",
  "/docs/errors": "docs/errors/index.html",
  "/docs/page.css": "docs/page.css",
  "/docs/start.js": "docs/start.js",
  "/docs/swagger-ui.css": "docs/swagger-ui.css",
  "/docs/swagger-ui-bundle.js": "docs/swagger-ui-bundle.js",
  "/openapi.json": "openapi.json",
  "/openapi.yaml": "openapi.yaml",
};

/** The paths of pages, as the router and the table of methods see them. */
export const PAGE_PATHS: readonly string[] = [...Object.keys(FILES), "/docs/errors/{code}"];

/** The file behind a path; undefined where there is none. */
export function pageFile(path: string): string | undefined {
  const code = /^\/docs\/errors\/([a-z_]+)$/.exec(path)?.[1];
  if (code !== undefined) return Object.hasOwn(PROBLEMS, code) ? `docs/errors/${code}.html` : undefined;
  return Object.hasOwn(FILES, path) ? FILES[path] : undefined;
}

/** Hands out one file; undefined where the asset service has none. */
export async function pageResponse(
  file: string,
  assets: Assets,
  requestId: string,
): Promise<Response | undefined> {
  const found = await assets.fetch(new Request(`http://assets/${file}`));
  if (found.status !== 200) return undefined;
  const extension = file.slice(file.lastIndexOf(".") + 1);
  return new Response(found.body, {
    headers: {
      "Content-Type": CONTENT_TYPES[extension] ?? "application/octet-stream",
      "Content-Security-Policy":
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-cache",
      "X-Request-Id": requestId,
    },
  });
}
