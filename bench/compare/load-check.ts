/**
 * Whether the load is what limits: one process beside two, on a server that answers at once and reads nothing.
 * May import: the load. Rule: told in each run, since it depends on the machine.
 */
import { Fleet, type Measurement, median } from "../generator/fleet.ts";

const ROUNDS = 3;
const CLIENTS = 64;
const PLAN = { steps: [{ method: "GET", path: "/bench/bare", variant: "bare" }] };

/** In words: the rate of the fleet, and that of two processes, in turn. */
export async function tellLoad(fleet: Fleet, url: string, seconds: number): Promise<string[]> {
  const two = new Fleet(2);
  const [one, both]: [Measurement[], Measurement[]] = [[], []];
  const load = { url, plan: PLAN, clients: CLIENTS, seconds, from: 0 };
  try {
    // The first of each compiles the code of both sides.
    for (let round = 0; round <= ROUNDS; round += 1) {
      one.push(await fleet.run(load));
      both.push(await two.run(load));
    }
  } finally {
    two.close();
  }
  const told = (all: readonly Measurement[]): string => {
    const of = (figure: "perSecond" | "share") => median(all.slice(1).map((each) => each[figure]));
    return `${of("perSecond").toFixed(0)}/s, at ${(of("share") * 100).toFixed(0)} % of a core`;
  };
  return [
    `A Worker that answers "ok" at ${CLIENTS} clients: ${told(one)};`,
    `with two processes that send: ${told(both)} each.`,
  ];
}
