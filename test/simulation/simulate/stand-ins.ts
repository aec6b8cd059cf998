/**
 * Lets Node load the object classes outside Vitest: the platform's modules are the simulation's.
 * May import: node only. Used as `node --import`.
 */
import { registerHooks } from "node:module";

const STAND_INS: Readonly<Record<string, string>> = {
  "cloudflare:workers": "../../support/simulation/cloudflare-workers.ts",
  "cloudflare:durable-objects": "../../support/simulation/cloudflare-durable-objects.ts",
};

registerHooks({
  resolve(specifier, context, next) {
    const path = STAND_INS[specifier];
    if (path === undefined) return next(specifier, context);
    return { url: new URL(path, import.meta.url).href, shortCircuit: true };
  },
});
