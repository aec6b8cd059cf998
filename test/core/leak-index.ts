/**
 * A handle index that is nothing but the pure judgement of a check, as the cases of its repair describe one.
 * May import: the core. Rule: the blocks are the truth; what becomes of a row the core says.
 */
import { judgeHeldKey, outcomeOf } from "../../src/core/check-keys.ts";
import { type KeyChanges, type KeyRow, settle } from "../../src/core/key-index.ts";
import { restore } from "../../src/core/key-restore.ts";

/** Long ago for a row of a case: no message of an attempt is under way. */
const NOW = 1_000_000_000;
const TIMES = { skewMs: 50, untilMs: 2_000, spentKeyMs: 600_000 };
/** The cases know no keys of requests: each handle has one. */
const KEY = "of-the-case";

export interface HandleGiven {
  readonly blocks: Readonly<Record<string, number>>;
  readonly deleted: boolean;
}

/** The words of a case: handles with their counts by block. A handle is its rows: without any there is none. */
export type Handles = Readonly<Record<string, HandleGiven>>;

interface Held {
  readonly handle: string;
  readonly block: string;
}

export class LeakIndex {
  readonly #rows = new Map<string, KeyRow>();
  readonly #held = new Map<string, Held & { readonly count: number }>();

  /** `allocations`: one for each address that a block holds. */
  constructor(handles: Handles, allocations: readonly Held[]) {
    for (const [handle, { blocks }] of Object.entries(handles)) {
      for (const [block, count] of Object.entries(blocks)) this.#put(rowOf(handle, block, count));
    }
    for (const { handle, block } of allocations) {
      const count = (this.#held.get(nameOf(handle, block))?.count ?? 0) + 1;
      this.#held.set(nameOf(handle, block), { handle, block, count });
    }
  }

  /** One check with repair: all that blocks hold, then all that is listed. */
  check(): void {
    for (const [name, { handle, block, count }] of this.#held) {
      const row = this.#rows.get(name);
      const listed = { state: row?.state ?? "missing", count: row?.count ?? 0 } as const;
      if (judgeHeldKey({ handle, key: KEY, count, sequenceNumber: 1 }, listed) === undefined) continue;
      this.#apply(restore(row, { handle, key: KEY, block, family: 4, count }, NOW, TIMES));
    }
    for (const row of this.#rows.values()) {
      const outcome = outcomeOf(this.#held.has(nameOf(row.handle, row.block)) ? "held" : "not_held");
      if (outcome !== undefined) this.#apply(settle(row, { ...row, outcome }, NOW));
    }
  }

  /** Somebody meets the limit of a handle: its blocks are asked how many they hold. */
  meetLimit(handle: string): void {
    for (const row of [...this.#rows.values()].filter((one) => one.handle === handle)) {
      const count = this.#held.get(nameOf(handle, row.block))?.count ?? 0;
      this.#apply(settle(row, { ...row, outcome: "held", count }, NOW));
    }
  }

  handles(): Handles {
    const listed = [...this.#rows.values()].filter(({ state }) => state === "reserved");
    const byHandle = [...Map.groupBy(listed, ({ handle }) => handle)];
    return Object.fromEntries(
      byHandle.map(([handle, rows]) => {
        return [
          handle,
          { blocks: Object.fromEntries(rows.map(({ block, count }) => [block, count])), deleted: false },
        ];
      }),
    );
  }

  #put(row: KeyRow): void {
    this.#rows.set(nameOf(row.handle, row.block), row);
  }

  #apply({ put, remove }: KeyChanges): void {
    for (const { handle, block } of remove) this.#rows.delete(nameOf(handle, block));
    for (const row of put) this.#put(row);
  }
}

function rowOf(handle: string, block: string, count: number): KeyRow {
  const attempt = { attempt: "first", until: 2_000, untilBefore: 0, at: 0 };
  return { handle, key: KEY, block, family: 4, count, fingerprint: "body", state: "reserved", ...attempt };
}

function nameOf(handle: string, block: string): string {
  return `${handle} ${block}`;
}
