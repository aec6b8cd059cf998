/**
 * Runs cases on a back end, whatever test runner calls it, and says of each how it ended.
 * May import: the rest of this folder. Rule: a difference passes only by the table.
 */
import { DEVIATIONS, type Deviation } from "./deviations.ts";
import { type Difference, differences, savedForm } from "./matching.ts";
import { resolved } from "./references.ts";
import { type Backend, type Case, GivenRefused, NotYet, type Outcome, type World } from "./vocabulary.ts";

/** How one case ended. */
export type Verdict =
  | { readonly kind: "pass" }
  /** It ended as the table says that it does here. */
  | { readonly kind: "differs"; readonly by: Deviation }
  | { readonly kind: "not yet"; readonly needs: string }
  | { readonly kind: "fail"; readonly text: string };

export interface Report {
  readonly backend: string;
  readonly verdicts: ReadonlyMap<string, Verdict>;
}

/** Reads cases from text, one per line. */
export function parseCases(text: string): Case[] {
  const lines = text.split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as Case);
}

/** The entries of the table that concern a back end, by case. */
export function entriesFor(table: readonly Deviation[], backend: string): Map<string, Deviation> {
  const concerned = table.filter(({ on }) => on.some((name) => name === backend));
  return new Map(concerned.map((entry) => [entry.id, entry]));
}

/**
 * Runs one case. An entry of the table replaces what steps expect; a case that then still ends
 * otherwise fails, and so does an entry for a case that needs none.
 */
export async function runCase(backend: Backend, one: Case, entry?: Deviation): Promise<Verdict> {
  const asWritten = await attempt(backend, one, undefined);
  if (asWritten.kind === "not yet") return { kind: "not yet", needs: asWritten.needs };
  if (entry === undefined) {
    if (asWritten.kind === "as expected") return { kind: "pass" };
    return { kind: "fail", text: told(backend, one, asWritten.text) };
  }
  if (asWritten.kind === "as expected") {
    const text = "the table of deviations has an entry for this case, which passes without it";
    return { kind: "fail", text: told(backend, one, text) };
  }
  const ours = await attempt(backend, one, entry);
  if (ours.kind === "as expected") return { kind: "differs", by: entry };
  const text = ours.kind === "otherwise" ? ours.text : `not yet: ${ours.needs}`;
  return { kind: "fail", text: told(backend, one, `even with the table's entry:\n${text}`) };
}

/** Runs one case by the table, and says how it has to end: every case runs on every back end. */
export async function runByTable(
  backend: Backend,
  one: Case,
): Promise<{ readonly verdict: Verdict; readonly due: Verdict["kind"] }> {
  const entry = entriesFor(DEVIATIONS, backend.name).get(one.id);
  return { verdict: await runCase(backend, one, entry), due: entry === undefined ? "pass" : "differs" };
}

/** Runs cases one after another. */
export async function runCases(
  backend: Backend,
  cases: readonly Case[],
  table: readonly Deviation[],
): Promise<Report> {
  const entries = entriesFor(table, backend.name);
  const verdicts = new Map<string, Verdict>();
  for (const one of cases) verdicts.set(one.id, await runCase(backend, one, entries.get(one.id)));
  return { backend: backend.name, verdicts };
}

type Attempt =
  | { readonly kind: "as expected" }
  | { readonly kind: "otherwise"; readonly text: string }
  | { readonly kind: "not yet"; readonly needs: string };

async function attempt(backend: Backend, one: Case, entry: Deviation | undefined): Promise<Attempt> {
  // Nothing is set up for a case that cannot be run to its end.
  const missing = one.steps.find(({ op }) => !backend.operations.has(op));
  if (missing !== undefined) return { kind: "not yet", needs: missing.op };
  let world: World;
  try {
    world = await backend.begin(one.given);
  } catch (error) {
    if (error instanceof NotYet) return { kind: "not yet", needs: error.message };
    if (!(error instanceof GivenRefused)) throw error;
    if (entry?.given === "refused") return { kind: "as expected" };
    return { kind: "otherwise", text: `the state it begins in is refused: ${error.message}` };
  }
  try {
    return await steps(world, one, entry);
  } catch (error) {
    if (error instanceof NotYet) return { kind: "not yet", needs: error.message };
    throw error;
  } finally {
    await world.end();
  }
}

async function steps(world: World, one: Case, entry: Deviation | undefined): Promise<Attempt> {
  const saved = new Map<string, unknown>();
  for (const [index, { op, args, expect, save }] of one.steps.entries()) {
    const run = world[op] as ((args: unknown) => Promise<Outcome>) | undefined;
    if (run === undefined) throw new NotYet(op);
    const outcome = await run.call(world, resolved(args, saved));
    const expected = entry?.steps?.[index] ?? expect;
    const found = differences(outcome, expected, one.internal === true);
    if (found.length > 0) return { kind: "otherwise", text: stepText(one, index, found) };
    if (save !== undefined) saved.set(save, savedForm(outcome));
    if (entry?.endsAfter === index) break;
  }
  return { kind: "as expected" };
}

function stepText(one: Case, index: number, found: readonly Difference[]): string {
  const { op, args } = one.steps[index] ?? { op: "?", args: {} };
  const lines = found.map(
    ({ at, expected, got }) => `  ${at}: expected ${shown(expected)}, got ${shown(got)}`,
  );
  return [`step ${index} ${op} ${JSON.stringify(args)}`, ...lines].join("\n");
}

function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}

function told(backend: Backend, { id, why }: Case, text: string): string {
  return `${id} on ${backend.name}: ${why}\n${text}`;
}

/** Counts a report in one line, e.g. for the log of a test. */
export function summary({ backend, verdicts }: Report): string {
  const counts = new Map<string, number>();
  for (const { kind } of verdicts.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return `${backend}: ${[...counts].map(([kind, count]) => `${count} ${kind}`).join(", ")}`;
}
