/**
 * How what a case of the collector expects is compared with what came about on a service.
 * May import: the vocabulary of the cases. Rule: a member that nobody answers fails.
 */
import { isSame, NOT_COMPARED } from "../../core/leak-case-run.ts";
import type { Expectation, LeakCase } from "../../core/leak-vocabulary.ts";

/** Members that a caller cannot see, besides those that nobody answers here. */
const UNSEEN: Readonly<Record<string, string>> = {
  dirty_nodes: NOT_COMPARED.dirty_nodes ?? "",
  cold_visited: NOT_COMPARED.cold_visited ?? "",
  dealloc: NOT_COMPARED.dealloc ?? "",
  live_pod_reads: "an agent reports again; nobody reads a pod",
  tracked_seq: "sequence numbers are the blocks' own",
};

/** Everything that a step of a case brought about, by the names of the cases. */
export type Answers = Readonly<Record<string, unknown>>;

/** Compares what came about with what is expected; gives the differences, and how much was compared. */
export function compare(
  one: LeakCase,
  played: readonly Answers[],
  entry: Readonly<Record<number, Expectation>>,
): { readonly faults: readonly string[]; readonly compared: number } {
  const faults: string[] = [];
  let compared = 0;
  for (const [index, step] of routable(one).steps.entries()) {
    const answers = played[index] ?? {};
    for (const [name, wanted] of expected({ ...step.expect, ...entry[index] })) {
      compared += 1;
      const got = answers[name];
      if (isSame(got, wanted)) continue;
      const at = `step ${index} at ${step.at_seconds} s`;
      faults.push(`  ${at}: ${name} is ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
    }
  }
  return { faults, compared };
}

function expected({ metrics, ...rest }: Expectation): [name: string, wanted: unknown][] {
  const seen = Object.entries(rest).filter(([name, wanted]) => !(name in UNSEEN) && wanted !== undefined);
  return [...seen, ...Object.entries((metrics ?? {}) as Answers)];
}

/** Pools are not made of link-local addresses here: the same case with others. */
export function routable<T>(one: T): T {
  return JSON.parse(JSON.stringify(one).replaceAll("fe80::", "fd80::")) as T;
}
