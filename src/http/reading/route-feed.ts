/**
 * Routes of all pools in the order of addresses: revisions first, then one page; and waiting for a change.
 * May import: core, rpc and http. Rule: the ETag is never newer than the routes that go with it.
 */
import type { Rejection } from "../../core/errors.ts";
import type { CompiledPolicy, CompiledPool } from "../../core/policy.ts";
import { ok, type Result } from "../../core/result.ts";
import { markBehind, markOf, type Route, reachesBeyond } from "../../core/routes.ts";
import { mapBounded } from "../concurrency.ts";
import { canonicalJson, sha256Hex } from "../digest.ts";
import type { Call } from "../operation.ts";
import { invalidCursor, type PageRequest } from "../paging.ts";
import { poolsByAddress } from "./block-walk.ts";
import { storedCompiledPolicy, targetOf } from "./policy.ts";

/** Pools whose revisions one request asks for; the others come with the next page. */
const POOLS_MAX = 256;
/** Pools that a waiting request watches; a change in another one is seen when the wait ends. */
const WATCHED_MAX = 64;
/** Answers of Pools that one page is made of. */
const ANSWERS_MAX = 64;
const ETAG_DIGITS = 24;
/** How often a waiting request looks whether there are other pools, ms. */
const POLICY_LOOK_MS = 2_000;

export interface RouteFilter {
  readonly pool?: string | undefined;
  readonly host?: string | undefined;
}

/** Where the routes stood when they were asked for. */
export interface RouteState {
  readonly policy: CompiledPolicy;
  /** In the order of addresses. */
  readonly pools: readonly { readonly pool: CompiledPool; readonly revision: number }[];
  /** Pools that come after these. */
  readonly hasMore: boolean;
  readonly etag: string;
  readonly revision: number;
  readonly asOf: number;
}

export interface RouteItem extends Route {
  readonly pool: CompiledPool;
}

/** Asks the Pools how far their routes have come. Rejects: a cursor that names no place. */
export async function readRouteState(
  call: Call,
  filter: RouteFilter,
  page: PageRequest,
): Promise<Result<RouteState, Rejection<"invalid_request">>> {
  const policy = await storedCompiledPolicy(call);
  const mark = page.after === undefined ? undefined : markOf(page.after);
  if (page.after !== undefined && mark === undefined) return invalidCursor("names no route");
  const all = poolsByAddress(policy).filter(
    ({ definition }) => filter.pool === undefined || definition.name === filter.pool,
  );
  const ahead = all.findIndex(({ cidr }) => mark === undefined || reachesBeyond(cidr, mark));
  const first = all.length <= POOLS_MAX ? 0 : ahead < 0 ? all.length : ahead;
  const asked = all.slice(first, first + POOLS_MAX);
  const asOf = call.now();
  const pools = await mapBounded(asked, async (pool) => ({ pool, ...(await revisionOf(call, pool)) }));
  const state = pools.map(({ pool: { definition }, revision }) => {
    return [definition.name, definition.incarnation, revision];
  });
  const etag = await sha256Hex(canonicalJson(state), ETAG_DIGITS);
  const revision = Math.max(0, ...pools.map((one) => one.revision));
  return ok({ policy, pools, hasMore: first + POOLS_MAX < all.length, etag, revision, asOf });
}

/** Reads one page of the routes of those pools. */
export async function readRoutePage(
  call: Call,
  state: RouteState,
  filter: RouteFilter,
  page: PageRequest,
): Promise<{ readonly items: readonly RouteItem[]; readonly next?: string }> {
  const items: RouteItem[] = [];
  const mark = page.after === undefined ? undefined : markOf(page.after);
  const ahead = state.pools.filter(({ pool }) => mark === undefined || reachesBeyond(pool.cidr, mark));
  let seen = page.after;
  let answers = 0;
  for (const { pool } of ahead) {
    const target = targetOf(pool);
    const port = call.ports.pool(target.pool, target.incarnation);
    for (let isMore = true; isMore; ) {
      if ((items.length === page.limit || answers === ANSWERS_MAX) && seen !== undefined) {
        return { items, next: page.cursorAfter(seen) };
      }
      answers += 1;
      const read = await port.routes({
        ...target,
        limit: page.limit - items.length,
        ...(seen === undefined ? {} : { after: seen }),
        ...(filter.host === undefined ? {} : { host: filter.host }),
      });
      items.push(...read.routes.map((route) => ({ ...route, pool })));
      isMore = read.next !== undefined;
      seen = read.next ?? markBehind(pool.cidr);
    }
  }
  return state.hasMore && seen !== undefined ? { items, next: page.cursorAfter(seen) } : { items };
}

/** Waits until a watched pool's routes change, the pools are others, or so long. */
export async function waitForRoutes(call: Call, state: RouteState, ms: number): Promise<void> {
  const over = new AbortController();
  const time = call.sleep(ms, over.signal).catch(() => undefined);
  const watched = state.pools.slice(0, WATCHED_MAX).map(async ({ pool, revision }) => {
    // A Pool that failed may have lost what it knew of this request: answer with what there is.
    const answer = await revisionOf(call, pool, revision, ms).catch(() => undefined);
    // One where too many wait answers early; the others may still tell of a change.
    if (answer?.revision === revision) await time;
  });
  const looks = async (): Promise<void> => {
    for (let left = ms; left > POLICY_LOOK_MS; left -= POLICY_LOOK_MS) {
      await call.sleep(POLICY_LOOK_MS, over.signal);
      const leased = await call.policy.current(call.now()).catch(() => undefined);
      if (leased !== undefined && leased.policy.version !== state.policy.version) return;
    }
    await time;
  };
  await Promise.race([time, looks().catch(() => undefined), ...watched]);
  over.abort();
}

async function revisionOf(
  call: Call,
  pool: CompiledPool,
  known?: number,
  waitMs?: number,
): Promise<{ readonly revision: number }> {
  const target = targetOf(pool);
  const wait = known === undefined || waitMs === undefined ? {} : { known, waitMs };
  return await call.ports.pool(target.pool, target.incarnation).routesRevision({ ...target, ...wait });
}
