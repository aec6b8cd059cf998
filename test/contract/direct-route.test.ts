/** The look-up ahead of the router: it finds what the router finds, or leaves it to the router. */
import fc from "fast-check";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { directRoutes } from "../../src/http/direct-route.ts";
import type { Operation } from "../../src/http/operation.ts";
import { OPERATIONS } from "../../src/http/routes.ts";
import { runs } from "../support/seeds.ts";

const served: readonly Operation[] = OPERATIONS;
const direct = directRoutes(served);

/** What the router alone makes of a request. */
async function routed(method: string, url: string): Promise<unknown> {
  const app = new Hono();
  for (const { id, method: own, path } of served) {
    app.on(own.toUpperCase(), path.replaceAll(/\{([^}]+)\}/g, ":$1"), (c) =>
      c.json({ id, params: c.req.param() }),
    );
  }
  const answer = await app.request(url, { method });
  return answer.status === 404 ? undefined : await answer.json();
}

function found(method: string, url: string): unknown {
  const route = direct(method, url);
  return route && { id: route.operation.id, params: route.params };
}

const methods = fc.constantFrom("GET", "PUT", "POST", "PATCH", "DELETE");
const value = fc.oneof(
  fc.constantFrom("a", "", "10.0.0.0-26", "fd00::1", "%41", "%zz", "a:b", "releases", "_x", "a.b", "ü"),
  fc.string({ maxLength: 6 }),
);
const paths = fc
  .tuple(fc.constantFrom(...served.map(({ path }) => path)), fc.array(value, { minLength: 3, maxLength: 3 }))
  .map(([path, values]) => path.replaceAll(/\{[^}]+\}/g, () => values.pop() ?? ""));
const ends = fc.constantFrom("", "", "/", "?", "?limit=1", "?a=/v1/x", "/extra");

describe("the look-up ahead of the router", () => {
  it("finds nothing that the router would not find", async () => {
    const request = fc.tuple(methods, paths, ends);
    await fc.assert(
      fc.asyncProperty(request, async ([method, path, end]) => {
        // As the platform gives it: parsed and written again.
        const { url } = new Request(`http://service${path}${end}`);
        const own = found(method, url);
        if (own !== undefined) expect(own).toEqual(await routed(method, url));
      }),
      { numRuns: runs(400) },
    );
  });

  it("finds each operation of a fixed path, and of one value at the end", () => {
    for (const { id, method, path } of served) {
      const values = path.match(/\{/g)?.length ?? 0;
      const isDirect = values === 0 || (values === 1 && path.endsWith("}"));
      const url = `http://service:8080${path.replaceAll(/\{[^}]+\}/g, "x-1")}?q=1`;
      const name = /\{([^}]+)\}$/.exec(path)?.[1];
      const params = name === undefined ? {} : { [name]: "x-1" };
      expect(found(method.toUpperCase(), url), id).toEqual(isDirect ? { id, params } : undefined);
    }
  });

  it("leaves what is encoded, empty, or of another method to the router", () => {
    expect(found("DELETE", "http://service/v1/handles/a%2Fb")).toBeUndefined();
    expect(found("DELETE", "http://service/v1/handles/")).toBeUndefined();
    expect(found("HEAD", "http://service/v1/handles/a")).toBeUndefined();
    expect(found("POST", "http://service/v1/unknown")).toBeUndefined();
  });
});
