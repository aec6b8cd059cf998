/**
 * Writes explanations of allocations as answers.
 * May import: core, rpc and http.
 */
import type { ExplanationView } from "../../rpc/host.ts";
import { consideredOnWire } from "../problem.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes what a request would get, or got, and why. */
export function explanationOnWire(view: ExplanationView): Wire["Explanation"] {
  return {
    ...view,
    hostLabels: { ...view.hostLabels },
    families: view.families.map((family) => ({
      ...family,
      considered: family.considered.map(consideredOnWire),
    })),
    asOf: timeText(view.asOf),
  };
}
