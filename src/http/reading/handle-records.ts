/**
 * What a handle holds: the index lists too much, the blocks tell the truth.
 * May import: core, rpc and http.
 */
import type { CompiledPolicy } from "../../core/policy.ts";
import { CALLS_AT_ONCE } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import type { PageRequest } from "../paging.ts";
import { releasePolicyOf } from "./policy.ts";
import { isWithinReach } from "./reach.ts";
import { byBlock, isNotPassed, RecordPage } from "./record-page.ts";

/** Questions to blocks of one answer: below the platform's 1,000 calls, with some to spare. */
const ASKS_MAX = 800;

/** Reads what a handle holds within the caller's reach, by address: all of it, but for what one answer cannot hold. */
export async function readHandle(
  call: Call,
  policy: CompiledPolicy,
  handle: string,
  { after }: Pick<PageRequest, "after">,
): Promise<RecordPage> {
  const { rows } = await call.ports.handleIndex(handle).list({ handle });
  const listed = [...new Set(rows.map(({ block }) => block))].toSorted(byBlock);
  const blocks = listed.filter((block) => isNotPassed(after, block));
  const page = new RecordPage(call, {
    records: { handle },
    policyOf: (block) => releasePolicyOf(policy, block),
    isWanted: (record) => record.state === "allocated" && isWithinReach(call.principal, record),
    after,
    limit: Number.POSITIVE_INFINITY,
    asksMax: ASKS_MAX,
  });
  for (let begin = 0; begin < blocks.length && !page.isOver; begin += CALLS_AT_ONCE) {
    await page.read(blocks.slice(begin, begin + CALLS_AT_ONCE));
  }
  return page;
}
