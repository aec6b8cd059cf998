/**
 * A process that lives histories for `npm run simulate`, one at a time as it is told.
 * May import: the simulation. Rule: it prints nothing; what it found goes to its parent.
 */
import { live } from "../../support/simulation/histories/life.ts";
import { planOf } from "../../support/simulation/histories/plan.ts";
import { DIRECTED } from "../histories/directed/index.ts";
import { perform } from "../histories/directed/perform.ts";

/** A history to live: one of a seed, or a directed one by its name. */
export interface Order {
  readonly directed?: string;
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

async function obey({ seed, operations, directed }: Order): Promise<void> {
  if (directed !== undefined) {
    const history = DIRECTED[directed];
    if (history === undefined) throw new Error(`there is no directed history ${directed}`);
    const told: Report = { seed, operations: 0, findings: await perform(history), reached: [] };
    process.send?.(told);
    return;
  }
  const lived = await live(planOf(seed, operations));
  const { findings, reached } = lived;
  const report: Report = { seed, operations: lived.operations, findings, reached: [...reached] };
  process.send?.(report);
}
