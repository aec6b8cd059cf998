/**
 * Cursors: where the next page begins, bound to the filters of the list.
 * May import: core and http. A cursor holds no state of the server, so it does not expire.
 */
import { type Rejection, rejection } from "../core/errors.ts";
import { PAGE_SIZE_DEFAULT } from "../core/limits.ts";
import { err, ok, type Result } from "../core/result.ts";
import { canonicalJson, sha256Hex } from "./digest.ts";

/** A page that was asked for. */
export interface PageRequest {
  readonly limit: number;
  /** The last item of the page before; the next one comes after it. */
  readonly after?: string;
  /** Writes the cursor of the page that follows an item. */
  cursorAfter(last: string): string;
}

const FILTER_DIGITS = 12;

/** Reads limit and cursor of a list. Rejects: a cursor that is not ours, or of other filters. */
export async function readPage(
  operationId: string,
  query: Readonly<Record<string, unknown>> & {
    readonly limit?: number | undefined;
    readonly cursor?: string | undefined;
  },
): Promise<Result<PageRequest, Rejection<"invalid_request">>> {
  const { limit, cursor, ...filters } = query;
  const bound = await sha256Hex(canonicalJson([operationId, filters]), FILTER_DIGITS);
  const page = {
    limit: limit ?? PAGE_SIZE_DEFAULT,
    cursorAfter: (last: string) => encode(JSON.stringify([bound, last])),
  };
  if (cursor === undefined) return ok(page);
  const read = decode(cursor);
  if (read === undefined) return invalidCursor("is not a cursor of this service");
  if (read[0] !== bound) return invalidCursor("belongs to a list with other filters");
  return ok({ ...page, after: read[1] });
}

/** Refuses a cursor that names no place of its list. Why: cursors are not signed, so anybody can write one. */
export function invalidCursor(message: string): {
  readonly ok: false;
  readonly error: Rejection<"invalid_request">;
} {
  return err(
    rejection("invalid_request", { errors: [{ parameter: "cursor", code: "invalid_cursor", message }] }),
  );
}

function encode(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function decode(cursor: string): [bound: string, after: string] | undefined {
  try {
    const binary = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const read: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes),
    );
    if (!Array.isArray(read) || read.length !== 2) return undefined;
    const [bound, after] = read as unknown[];
    return typeof bound === "string" && typeof after === "string" ? [bound, after] : undefined;
  } catch {
    return undefined;
  }
}

/** Cuts a sorted list of named things to one page. */
export function pageOf<T>(
  items: readonly T[],
  page: PageRequest,
  nameOf: (item: T) => string,
): { readonly items: readonly T[]; readonly nextCursor?: string } {
  const { after } = page;
  const rest = after === undefined ? items : items.filter((item) => nameOf(item) > after);
  const shown = rest.slice(0, page.limit);
  const last = shown.at(-1);
  if (last === undefined || rest.length <= page.limit) return { items: shown };
  return { items: shown, nextCursor: page.cursorAfter(nameOf(last)) };
}
