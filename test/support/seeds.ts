/**
 * Where random tests get their seeds: fixed ones, so that a result is a function of the commit.
 * `SEED=n` or `SEED=fresh` gives others, `RUNS_FACTOR=n` more cases (`npm run hunt`). May import: nothing.
 */
const FIXED = 20_261_130;
/** So that many seeds follow a fresh one before they are too large for a generator. */
const FRESH_MAX = 1_000_000_000;

const asked = process.env.SEED;

/** Returns a seed that no run before this one is likely to have had. */
export function freshSeed(): number {
  return Date.now() % FRESH_MAX;
}

/** The seed of this run; what fails has to print it. */
export const seed =
  asked === undefined ? FIXED : asked === "fresh" ? freshSeed() : numberOf("SEED", asked, 0);

/** How many times the usual number of cases is run, and the usual time is given. */
export const factor = numberOf("RUNS_FACTOR", process.env.RUNS_FACTOR ?? "1", 1);

/** Returns how many cases a property is tried with that usually has so many. */
export function runs(usual: number): number {
  return usual * factor;
}

/** False if other seeds were asked for: those need not reach what is rare, as the usual ones do. */
export const isUsual = asked === undefined && factor === 1;

/** Returns the seeds of histories that are drawn one by one: the usual ones, or others, and more. */
export function seeds(usual: readonly number[]): readonly number[] {
  return isUsual ? usual : range(seed, runs(usual.length));
}

/** Returns so many whole numbers from the first one on. */
export function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, nth) => first + nth);
}

function numberOf(name: string, text: string, least: number): number {
  const number = Number(text);
  if (text === "" || !Number.isSafeInteger(number) || number < least)
    throw new Error(`${name}=${text} is no whole number from ${least} on`);
  return number;
}
