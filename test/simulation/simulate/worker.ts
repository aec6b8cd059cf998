/**
 * A process that lives histories for `npm run simulate`, one at a time as it is told.
 * May import: the simulation. Rule: it prints nothing; what it found goes to its parent.
 */
import { live } from "../../support/simulation/histories/life.ts";
import { planOf } from "../../support/simulation/histories/plan.ts";

/** A history to live. */
export interface Order {
  readonly seed: number;
  readonly operations: number;
}

/** What came of it. */
export interface Report {
  readonly seed: number;
  readonly operations: number;
  readonly findings: readonly string[];
  readonly reached: readonly (readonly [string, number])[];
}

process.on("message", (order: Order) => void obey(order));
process.on("disconnect", () => process.exit());

async function obey({ seed, operations }: Order): Promise<void> {
  const lived = await live(planOf(seed, operations));
  const { findings, reached } = lived;
  const report: Report = { seed, operations: lived.operations, findings, reached: [...reached] };
  process.send?.(report);
}
