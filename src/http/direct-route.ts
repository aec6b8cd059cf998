/**
 * Finds the operation of a plain path by two look-ups, ahead of the router, which costs a tenth of an allocation.
 * May import: http types. Rule: what it is not sure of (encoded, deep, unknown) it leaves to the router.
 */
import type { Operation } from "./operation.ts";

/** An operation and the values of its path. */
export interface DirectRoute<O> {
  readonly operation: O;
  readonly params: Record<string, string>;
}

const PERCENT = 0x25;
const HASH = 0x23;
const QUESTION = 0x3f;
const NO_PARAMS = {};

/** Makes the look-up of operations whose path is fixed, or has one value, at its end. */
export function directRoutes<O extends Pick<Operation, "method" | "path">>(
  operations: readonly O[],
): (method: string, url: string) => DirectRoute<O> | undefined {
  const fixed = new Map<string, O>();
  const last = new Map<string, { readonly operation: O; readonly name: string }>();
  for (const operation of operations) {
    const method = operation.method.toUpperCase();
    const [, prefix, name] = /^([^{}]*\/)\{([^{}/]+)\}$/.exec(operation.path) ?? [];
    if (prefix !== undefined && name !== undefined) last.set(`${method} ${prefix}`, { operation, name });
    else if (!operation.path.includes("{")) fixed.set(`${method} ${operation.path}`, operation);
  }
  return (method, url) => {
    const path = plainPath(url);
    if (path === undefined) return undefined;
    const operation = fixed.get(`${method} ${path}`);
    if (operation !== undefined) return { operation, params: NO_PARAMS };
    const end = path.lastIndexOf("/") + 1;
    const found = last.get(`${method} ${path.slice(0, end)}`);
    if (found === undefined || end === path.length) return undefined;
    return { operation: found.operation, params: { [found.name]: path.slice(end) } };
  };
}

/** The path of a URL; undefined where anything in it is encoded. */
function plainPath(url: string): string | undefined {
  const start = url.indexOf("/", url.indexOf(":") + 4);
  if (start === -1) return undefined;
  for (let at = start; at < url.length; at += 1) {
    const code = url.charCodeAt(at);
    if (code === PERCENT) return undefined;
    if (code === QUESTION || code === HASH) return url.slice(start, at);
  }
  return url.slice(start);
}
