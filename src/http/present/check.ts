/**
 * Writes checks as answers, with a sentence for each problem.
 * May import: core and http. A finding is stored without words; they are made here.
 */
import { type CheckView, type Finding, type ListedFinding, PROBLEM_KINDS } from "../../core/check.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes where a check stands, and one page of its findings. */
export function checkOnWire(
  { startedAt, finishedAt, ...counts }: CheckView,
  findings: readonly ListedFinding[],
): Wire["Check"] {
  return {
    ...counts,
    startedAt: timeText(startedAt),
    ...(finishedAt === undefined ? {} : { finishedAt: timeText(finishedAt) }),
    findings: findings.map(findingOnWire),
  };
}

function findingOnWire(listed: ListedFinding): Wire["CheckFinding"] {
  const { number: _number, problem, other: _other, ...places } = listed;
  return { kind: PROBLEM_KINDS[problem], problem: `${problem}: ${SENTENCES[problem](listed)}`, ...places };
}

/** What each problem means; the word before it stays, the sentence may be put better. */
const SENTENCES: Record<Finding["problem"], (finding: Finding) => string> = {
  key_not_listed: ({ handle }) => `the block holds addresses of ${handle} that the index does not list.`,
  key_listed_as_spent: ({ handle }) =>
    `the block holds addresses of ${handle} that the index calls released.`,
  key_counted_short: ({ handle }) => `the index counts fewer addresses of ${handle} than the block holds.`,
  key_not_held: ({ handle }) =>
    `the index still lists ${handle} in a block that holds nothing of it; harmless.`,
  block_not_listed: ({ other }) => `the directory does not list this block, ${ownedBy(other)}.`,
  owner_differs: ({ host, other }) => `the directory names ${host ?? "no owner"}, the block ${other}.`,
  epoch_behind: () => "the block, or a host, has seen a higher epoch than the directory.",
  offer_not_taken: ({ host }) => `the directory gives the block to ${host}, which never took it.`,
  drained_block_kept: () => "the block is over, and the directory keeps it from being claimed.",
  route_missing: ({ host }) => `the pool has not heard that ${host} owns the block: there is no route.`,
  used_block_offered: () => "the block is in use and stands in the free space.",
  space_lost: () => "from this block on, space is neither in use nor free.",
  not_the_owner: ({ host, other }) => `${host} counts the block as its own, ${ownedBy(other)}.`,
  epoch_differs: ({ host }) => `the row of ${host} and the block are at different epochs.`,
  row_missing: ({ host }) => `${host} owns the block and has no row of it.`,
  row_unsettled: ({ host }) => `a claim or a release of the block by ${host} was never ended.`,
  borrowing_unknown: ({ host }) => `${host} holds an address here and does not know of it.`,
  host_not_listed: ({ host }) => `blocks name ${host}, and the list of hosts does not.`,
  host_no_answer: ({ host }) => `what ${host} has could not be read.`,
  wrong_pool: ({ other }) => `the block says that it belongs to ${other}, which has no such block.`,
  rows_contradict: () => "rows of the block contradict each other.",
  time_ahead: () => "the block's time is far ahead of the clock: it refuses what it is asked as late.",
  block_no_answer: () => "the block could not be read.",
  leak_suspected: ({ handle }) => `nobody seems to use what ${handle} holds; it is not proven yet.`,
  leak_confirmed: ({ handle }) =>
    `nobody uses what ${handle} holds; the collector frees it at its next look.`,
  leak_held: ({ handle, other }) => `nobody uses what ${handle} holds; it is kept: ${other}.`,
  used_not_allocated: ({ host, other }) =>
    `workloads of ${host} use ${other === "1" ? "an address" : `${other} addresses`} that it does not hold.`,
};

function ownedBy(owner: string | undefined): string {
  return owner === undefined ? "which has no owner" : `whose owner is ${owner}`;
}
