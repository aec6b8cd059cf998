/**
 * One page of suspected leaks, by host and then by address: which hosts have any, then each host's own word.
 * May import: core, rpc and http. A page asks a bounded number of hosts, and may be empty and have a cursor.
 */
import { parseAddress } from "../../core/address.ts";
import type { Rejection } from "../../core/errors.ts";
import { HOST_NAME_PATTERN, PAGE_SIZE_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { HostLeakFigures, ListedLeak } from "../../rpc/leaks.ts";
import { mapBounded, OBJECTS_PER_PAGE_MAX } from "../concurrency.ts";
import { isKnownHost } from "../known-hosts.ts";
import type { Call } from "../operation.ts";
import { invalidCursor, readPage } from "../paging.ts";
import { leakOnWire } from "../present/leak.ts";
import type { Wire } from "../schemas/components.ts";
import type { leaksQuery } from "../schemas/parameters.ts";
import type { z } from "../schemas/zod.ts";

type Query = z.output<typeof leaksQuery>;

/** Hosts asked at a time while a page fills. */
const SLICE = 8;
/** Hosts whose figures are read at a time, and how often for one page. */
const FIGURES_PAGE = 256;
const FIGURES_READS_MAX = 8;

/** Where a page ends: all leaks of this host up to this address; without an address, all of it. */
interface Place {
  readonly host: string;
  readonly address?: string;
}

/** Some hosts to ask, in the order of names. `seenUpTo`: all before were looked at; absent: there are no more. */
interface Hosts {
  readonly hosts: readonly Place[];
  readonly seenUpTo?: string;
}

/** Lists one page. Shape: the cursor is a place as text. */
export async function leakPage(
  call: Call,
  query: Query,
): Promise<Result<Wire["LeakList"], Rejection<"invalid_request">>> {
  const page = await readPage("listLeaks", query);
  if (!page.ok) return page;
  const { after, limit, cursorAfter } = page.value;
  const from = after === undefined ? undefined : placeOf(after);
  if (after !== undefined && from === undefined) return invalidCursor("names no leak");
  const { hosts, seenUpTo } = await hostsToAsk(call, query, from);
  const isFiltered = query.pool !== undefined || query.state !== undefined;
  const rows = isFiltered ? PAGE_SIZE_MAX : limit + 1;
  const items: ListedLeak[] = [];
  const end = await fill(call, hosts, rows, limit, items, query);
  const next = end ?? (seenUpTo === undefined ? undefined : { host: seenUpTo });
  return ok({
    items: items.map(leakOnWire),
    ...(next === undefined ? {} : { nextCursor: cursorAfter(textOf(next)) }),
  });
}

/** Takes leaks of hosts into a page until it is full; returns where it ended before the last of them. */
async function fill(
  call: Call,
  hosts: readonly Place[],
  rows: number,
  limit: number,
  items: ListedLeak[],
  query: Query,
): Promise<Place | undefined> {
  for (let at = 0; at < hosts.length; at += SLICE) {
    const answers = await mapBounded(hosts.slice(at, at + SLICE), async ({ host, address }) => {
      const after = address === undefined ? {} : { after: address };
      return { host, ...(await call.ports.host(host).leaks({ host, limit: rows, ...after })) };
    });
    for (const { host, leaks, next } of answers) {
      for (const leak of leaks) {
        if (!isWanted(leak, query)) continue;
        const last = items.at(-1);
        if (items.length >= limit && last !== undefined) return last;
        items.push(leak);
      }
      if (next !== undefined) return { host, address: next };
    }
  }
  return undefined;
}

async function hostsToAsk(call: Call, query: Query, from: Place | undefined): Promise<Hosts> {
  if (query.host !== undefined) {
    const isOver = from !== undefined && (from.host !== query.host || from.address === undefined);
    if (isOver || !(await isKnownHost(call, query.host))) return { hosts: [] };
    return { hosts: [from ?? { host: query.host }] };
  }
  const begun = from?.address === undefined || !(await isKnownHost(call, from.host)) ? [] : [from];
  return withLeaks(call, begun, from?.host);
}

/** Finds hosts with suspicions by what the Sweep knows of each. */
async function withLeaks(call: Call, begun: readonly Place[], from: string | undefined): Promise<Hosts> {
  const hosts: Place[] = [...begun];
  let after = from;
  for (let read = 0; read < FIGURES_READS_MAX; read += 1) {
    const start = after === undefined ? {} : { after };
    const { hosts: page, next } = await call.ports.sweep().hostFigures({ ...start, limit: FIGURES_PAGE });
    for (const { host, figures } of page) {
      if (!hasAny(figures)) continue;
      const last = hosts.at(-1)?.host;
      if (hosts.length >= OBJECTS_PER_PAGE_MAX && last !== undefined) return { hosts, seenUpTo: last };
      hosts.push({ host });
    }
    if (next === undefined) return { hosts };
    after = next;
  }
  return after === undefined ? { hosts } : { hosts, seenUpTo: after };
}

function hasAny({ counts: { candidates, confirmed, held } }: HostLeakFigures): boolean {
  return candidates + confirmed + held > 0;
}

function isWanted({ pool, state }: ListedLeak, query: Query): boolean {
  const isOfPool = query.pool === undefined || pool === query.pool;
  return isOfPool && (query.state === undefined || state === query.state);
}

function textOf({ host, address }: Place): string {
  return address === undefined ? host : `${host} ${address}`;
}

function placeOf(text: string): Place | undefined {
  const [host = "", address, ...rest] = text.split(" ");
  if (!HOST_NAME_PATTERN.test(host) || rest.length > 0) return undefined;
  if (address === undefined) return { host };
  return parseAddress(address).ok ? { host, address } : undefined;
}
