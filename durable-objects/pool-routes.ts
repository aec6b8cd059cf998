/**
 * The routes of a Pool: what its Hosts confirmed and its blocks lent, in pages, and who waits for a change.
 * May import: core, rpc, storage. Rule: every change of a route raises the revision in the same commit.
 */
import { type BlockGrid, rangeAt } from "../src/core/block-grid.ts";
import { bits, containsAddress } from "../src/core/cidr.ts";
import { invariant } from "../src/core/invariant.ts";
import {
  type BorrowedOrdinals,
  markBehind,
  markOf,
  nextRoutesRevision,
  type Route,
  routesOfBlock,
} from "../src/core/routes.ts";
import type { RoutePage } from "../src/rpc/pool.ts";
import type { Runtime } from "./runtime.ts";
import { PoolRouteRows } from "./storage/pool-route-rows.ts";
import type { BlockRow, PoolRows } from "./storage/pool-rows.ts";
import type { Store } from "./storage/store.ts";

/** Blocks looked at for one page of one host's routes; those of other hosts count too. */
const SCAN_MAX = 2_048;
/** Blocks looked at for any page at least: some have no route. */
const SCAN_MIN = 64;
/** Calls that wait at a time; one more is answered at once. */
const WAITERS_MAX = 256;

export class PoolRoutes {
  readonly #rows: PoolRows;
  readonly #routeRows: PoolRouteRows;
  readonly #waiters = new Set<() => void>();
  #hasChanged = false;

  constructor(store: Store, rows: PoolRows) {
    this.#rows = rows;
    this.#routeRows = new PoolRouteRows(store);
  }

  get revision(): number {
    return this.#rows.pool()?.routesRevision ?? 0;
  }

  /** Compares a block's row before and after; inside the transaction that writes it. */
  noteOwnership(before: BlockRow | undefined, after: Omit<BlockRow, "counts">, now: number): void {
    const routedTo = before?.confirmed === undefined ? undefined : before.owner;
    const routes = after.confirmed === undefined ? undefined : after.owner;
    if (routedTo !== routes) this.#raise(now);
    if (after.state === "free") this.#emptied(after.position, now);
  }

  /** Takes over the set that a block tells; false when it is not newer. Inside a transaction. */
  lend(block: BlockRow | undefined, position: bigint, version: number, told: BorrowedOrdinals, now: number) {
    const known = this.#routeRows.borrowed(position);
    if (known !== undefined && known.version >= version) return false;
    // A block that the directory calls free holds nothing: what it lent before is over.
    const addresses = block === undefined || block.state === "free" ? [] : told;
    this.#routeRows.putBorrowed(position, { version, addresses });
    if (JSON.stringify(known?.addresses ?? []) !== JSON.stringify(addresses)) this.#raise(now);
    return true;
  }

  /** Reads one page of routes. */
  page(grid: BlockGrid, after: string | undefined, limit: number, host: string | undefined): RoutePage {
    const { revision } = this;
    const mark = after === undefined ? undefined : markOf(after);
    const start = mark === undefined ? 0n : positionFrom(grid, mark);
    const scan = host === undefined ? Math.min(Math.max(limit + 1, SCAN_MIN), SCAN_MAX) : SCAN_MAX;
    const sources = this.#routeRows.from(start, scan);
    const routes: Route[] = [];
    for (const { position, owner, borrowed } of sources) {
      const found = routesOfBlock({ range: rangeAt(grid, position), owner, borrowed }, mark);
      routes.push(...found.filter((route) => host === undefined || route.host === host));
      if (routes.length <= limit) continue;
      const shown = routes.slice(0, limit);
      const next = shown.at(-1)?.destination;
      invariant(next !== undefined, "a page has at least one route");
      return { routes: shown, next, revision };
    }
    const last = sources.at(-1);
    if (sources.length < scan || last === undefined) return { routes, revision };
    return { routes, next: markBehind(rangeAt(grid, last.position)), revision };
  }

  /** Waits until the next change, or so long; who comes when too many wait does not wait. */
  async wait(ms: number, sleep: Runtime["sleep"]): Promise<void> {
    if (this.#waiters.size >= WAITERS_MAX) return;
    const timer = new AbortController();
    let wake = (): void => undefined;
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
      this.#waiters.add(wake);
    });
    try {
      await Promise.race([changed, sleep(ms, timer.signal).catch(() => undefined)]);
    } finally {
      this.#waiters.delete(wake);
      timer.abort();
    }
  }

  /** A transaction has ended: who waited is told what it committed. */
  ended(isCommitted: boolean): void {
    const tell = isCommitted && this.#hasChanged;
    this.#hasChanged = false;
    if (!tell) return;
    for (const wake of this.#waiters) wake();
  }

  #emptied(position: bigint, now: number): void {
    const known = this.#routeRows.borrowed(position);
    if (known === undefined || known.addresses.length === 0) return;
    this.#routeRows.putBorrowed(position, { version: known.version, addresses: [] });
    this.#raise(now);
  }

  #raise(now: number): void {
    if (this.#hasChanged) return;
    this.#hasChanged = true;
    this.#routeRows.putRevision(nextRoutesRevision(this.revision, now));
  }
}

/** The position of the block in which a mark lies; that of the first one when it lies before the pool. */
function positionFrom(grid: BlockGrid, mark: { readonly family: 4 | 6; readonly base: bigint }): bigint {
  const { cidr, blockSize, positions } = grid;
  const isInside = containsAddress(cidr, { family: mark.family, value: mark.base });
  if (isInside) return (mark.base - cidr.base) >> BigInt(bits(cidr.family) - blockSize);
  const isBefore = mark.family === cidr.family ? mark.base < cidr.base : mark.family < cidr.family;
  return isBefore ? 0n : positions;
}
