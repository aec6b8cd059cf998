/**
 * Whole lists of a Kubernetes API server, page by page at one version.
 * May import: gc. Rule: a list is complete only if every page was read as it must be, of one version, to the end.
 */
import { type Look, type Question, TOO_LARGE } from "./kubernetes-client.ts";
import type { KubernetesLimits } from "./kubernetes-limits.ts";
import { pageOf } from "./kubernetes-objects.ts";

export interface ListQuestion extends Question {
  /** What an answer may call itself. */
  readonly kinds: readonly string[];
}

/** `items`: those of the last try, all that were read. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly isComplete: boolean;
  /** Why it is not complete. */
  readonly what?: string;
}

export const EXPIRED = "the list expired";
export const MALFORMED = "no list as expected";
const OTHER_VERSION = "the version changed between pages";

/**
 * Reads a list to its end; begins anew, a few times, when its version is gone.
 * Shape: `take` gives undefined for an item that is not as it must be; then the list is not complete.
 * Why: the token that comes with 410 would go on at another version, so that what moved is in no page.
 */
export async function listAll<T>(
  look: Look,
  question: ListQuestion,
  take: (item: unknown) => T | undefined,
  limits: KubernetesLimits,
): Promise<Listed<T>> {
  let size = limits.pageSizes[0];
  let listed = await listOnce(look, question, take, limits, size);
  for (let anew = 0; anew < limits.anewMax; anew += 1) {
    if (listed.what === TOO_LARGE && size !== limits.pageSizes[1]) size = limits.pageSizes[1];
    else if (listed.what !== EXPIRED && listed.what !== OTHER_VERSION) return listed;
    listed = await listOnce(look, question, take, limits, size);
  }
  return listed;
}

async function listOnce<T>(
  look: Look,
  question: ListQuestion,
  take: (item: unknown) => T | undefined,
  { pagesMax }: KubernetesLimits,
  size: number,
): Promise<Listed<T>> {
  const items: T[] = [];
  const cut = (what: string): Listed<T> => ({ items, isComplete: false, what });
  let isSound = true;
  let version: string | undefined;
  let next: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const query = { ...question.query, limit: `${size}`, ...(next === undefined ? {} : { continue: next }) };
    const reply = await look.get({ ...question, query });
    if (reply.kind === "failed") return cut(reply.what);
    if (reply.kind === "gone") return cut(EXPIRED);
    if (reply.kind === "not_found") return cut("not found");
    const read = pageOf(reply.body, question.kinds);
    if (read === undefined) return cut(MALFORMED);
    if (version !== undefined && read.version !== version) return cut(OTHER_VERSION);
    version = read.version;
    for (const item of read.items) {
      const taken = take(item);
      if (taken === undefined) isSound = false;
      else items.push(taken);
    }
    next = read.next;
    if (next === undefined) return isSound ? { items, isComplete: true } : cut("an item is not as expected");
  }
  return cut("too many pages");
}
