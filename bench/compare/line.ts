/**
 * What was measured: a line for each subject and number of clients, with all its rounds.
 * May import: the median. Rule: a ratio is taken round by round, from what ran next to each other.
 */
import { median } from "../generator/fleet.ts";

/** One round of one line. Units: per second, milliseconds, shares of one core; the rest for one operation. */
export interface Round {
  readonly operations: number;
  readonly failed: number;
  readonly fault?: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The busiest process of the load. */
  readonly share: number;
  /** Of the server. */
  readonly cpuMicros: number;
  /** Object calls, commits and rows written, all that the objects did meanwhile. */
  readonly cost?: Cost;
  /** A peer's requests that began anew because another was first. */
  readonly retries?: number;
}

export interface Cost {
  readonly calls: number;
  readonly commits: number;
  readonly rows: number;
}

export interface Line {
  readonly id: string;
  readonly name: string;
  readonly clients: number;
  /** Addresses of one operation. */
  readonly addresses: number;
  /** What one operation by itself costs, the least of several. */
  alone?: Cost;
  readonly rounds: Round[];
  /** What went wrong first; such a line is no result. */
  fault?: string;
}

export type Figure = "perSecond" | "p50" | "p99" | "share" | "cpuMicros";

/** The median of the rounds. */
export function middle(line: Line, figure: Figure): number {
  return median(line.rounds.map((round) => round[figure]));
}

/** The lowest and highest of the rounds. */
export function spread(line: Line, figure: Figure): readonly [number, number] {
  const values = line.rounds.map((round) => round[figure]);
  return [Math.min(...values), Math.max(...values)];
}

/** The median of the ratios of each round; not a number where one of them was not measured. */
export function ratio(line: Line | undefined, to: Line | undefined, figure: Figure): number {
  if (line === undefined || to === undefined) return Number.NaN;
  const common = Math.min(line.rounds.length, to.rounds.length);
  const of = (one: Line, round: number) => one.rounds[round]?.[figure] ?? Number.NaN;
  return median(Array.from({ length: common }, (_, round) => of(line, round) / of(to, round)));
}

/** For one operation, over all rounds. */
export function costOf({ rounds }: Line): Cost | undefined {
  if (rounds.length === 0 || rounds.some(({ cost }) => cost === undefined)) return undefined;
  const operations = rounds.reduce((sum, round) => sum + round.operations, 0);
  const mean = (what: keyof Cost) =>
    rounds.reduce((sum, round) => sum + (round.cost?.[what] ?? 0) * round.operations, 0) / operations;
  return { calls: mean("calls"), commits: mean("commits"), rows: mean("rows") };
}

/** Adds a round; what failed in it, or was given twice, is the line's fault. */
export function add(line: Line, round: Round): void {
  line.rounds.push(round);
  if (round.operations === 0) line.fault ??= "no operation ended";
  if (round.failed > 0) line.fault ??= `${round.failed} failed: ${round.fault ?? "?"}`;
}
