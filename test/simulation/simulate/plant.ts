/**
 * Puts one planted fault into the product as Node loads it; named by SIMULATE_FAULT.
 * May import: node, planted. Used as `node --import`, after stand-ins.ts.
 */
import { registerHooks } from "node:module";
import { PLANTED } from "./planted.ts";

const name = process.env.SIMULATE_FAULT;
const fault = name === undefined ? undefined : PLANTED[name];
if (name !== undefined && fault === undefined) throw new Error(`there is no fault ${name}`);

if (fault !== undefined) {
  const url = new URL(`../../../${fault.file}`, import.meta.url).href;
  registerHooks({
    load(loaded, context, next) {
      const result = next(loaded, context);
      if (loaded !== url) return result;
      const { source: given } = result;
      const source = typeof given === "string" ? given : new TextDecoder().decode(given as Uint8Array);
      if (source.split(fault.find).length !== 2) {
        throw new Error(`${name}: ${fault.file} has not exactly one place: ${fault.find}`);
      }
      return { ...result, source: source.replace(fault.find, () => fault.replace) };
    },
  });
}
