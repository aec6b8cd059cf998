/**
 * How many histories it takes to find each planted fault; one that stays hidden is a failure.
 * May import: node, the crew.
 */
import { employ } from "./crew.ts";
import type { SimulateOptions } from "./options.ts";
import { ELSEWHERE, PLANTED, type Planted } from "./planted.ts";
import { ProgressLine } from "./screen.ts";

interface Search {
  /** Histories until it was found; absent: it was not. */
  readonly after: number | undefined;
  readonly finding: string;
}

/** Looks for faults by name, or for all; prints a row for each. */
export async function findAll(names: readonly string[], options: SimulateOptions): Promise<boolean> {
  const chosen = names.includes("all") ? Object.keys(PLANTED) : names;
  let areFound = true;
  for (const name of chosen) {
    const fault = PLANTED[name];
    if (fault === undefined) throw new Error(`there is no planted fault ${name}`);
    const { after, finding } = await find(name, fault, options);
    if (after === undefined) areFound = false;
    const { most, directed } = budgetOf(fault, options);
    const when = after === undefined ? `NOT in ${most}` : directed === undefined ? String(after) : "directed";
    console.log(`${name.padEnd(4)} ${when.padStart(10)}  ${fault.what}`);
    if (finding !== "") console.log(`                 ${finding.slice(0, 62)}`);
  }
  if (names.includes("all")) {
    for (const [name, { what, why }] of Object.entries(ELSEWHERE)) {
      console.log(`${name.padEnd(4)}          -  ${what}\n                 ${why}`);
    }
  }
  return areFound;
}

/** How many histories must find a fault: its directed one alone, unless random ones are asked for. */
function budgetOf({ directed, within }: Planted, { histories, isRandom }: SimulateOptions) {
  if (directed !== undefined && !isRandom) return { most: 1, directed };
  return { most: Math.min(within ?? histories, histories), directed: undefined };
}

async function find(name: string, fault: Planted, options: SimulateOptions): Promise<Search> {
  const { from, operations, processes } = options;
  const { most, directed } = budgetOf(fault, options);
  const line = new ProgressLine();
  let ordered = 0;
  let heard = 0;
  let search: Search = { after: undefined, finding: "" };
  const next = () => {
    const isOver = search.after !== undefined || ordered >= most;
    if (isOver) return undefined;
    const order = { seed: from + ordered++, operations };
    return directed === undefined ? order : { ...order, directed };
  };
  await employ(
    Math.min(processes, most),
    next,
    ({ findings }) => {
      heard += 1;
      line.show(heard / most, `${name}: ${heard} histories`);
      const finding = findings.find((one) => fault.by.test(one));
      if (search.after !== undefined) return;
      if (finding !== undefined) search = { after: heard, finding };
      // What is found in another way tells where to look, and does not count.
      else if (findings[0] !== undefined) search = { after: undefined, finding: `(${findings[0]})` };
    },
    name,
  );
  line.end();
  return search;
}
