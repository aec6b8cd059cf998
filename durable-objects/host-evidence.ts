/**
 * The evidence that came to a Host: what its agent reported and what its runtime calls valid, kept over crashes.
 * May import: core, rpc, storage. Rule: a piece counts once, whatever arrives twice or late (I11, F32).
 */
import { datedBy, type Evidence, forgottenAfter, type SourceName } from "../src/core/leak-evidence.ts";
import { attachmentsEvidence, type ReportedWorkload, reportEvidence } from "../src/core/leak-report.ts";
import { kindOf } from "../src/core/leak-subject.ts";
import {
  dropPiece,
  type LeakRow,
  type Place,
  readBody,
  readPlaces,
  type Slot,
  saveBody,
  savePlace,
} from "./storage/host-leak-rows.ts";
import type { Store } from "./storage/store.ts";

/** What a piece lists: workloads of a report, or handles of a network. */
export type Listed = readonly ReportedWorkload[] | readonly string[];

interface Piece {
  readonly place: Place;
  readonly text: string;
  readonly count: number;
  readonly evidence: Evidence;
  /** When the place that is stored was taken; a later one is only in memory. */
  readonly savedAt: number;
}

type Pieces = Readonly<Partial<Record<Slot, Piece>>>;

/** Networks whose attachments are remembered; those not heard of for longest go first. */
const NETWORKS_MAX = 32;

export class HostEvidence {
  readonly #store: Store;
  #pieces: Map<SourceName, Pieces> | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** All that counts: of each source the last complete piece, and what came after it. */
  all(): Evidence[] {
    return [...this.#known().values()].flatMap(({ complete, newer }) =>
      [complete, newer].flatMap((piece) => piece?.evidence ?? []),
    );
  }

  /** The newest piece of a source. */
  last(source: SourceName): (Place & { readonly count: number }) | undefined {
    const { complete, newer } = this.#known().get(source) ?? {};
    const piece = newer ?? complete;
    return piece === undefined ? undefined : { ...piece.place, count: piece.count };
  }

  /** Whether a piece says what the newest of its source says; the order of its entries tells nothing. */
  isNewest(source: SourceName, complete: boolean, listed: Listed): boolean {
    const { complete: whole, newer } = this.#known().get(source) ?? {};
    const piece = newer ?? whole;
    return piece !== undefined && piece.place.complete === complete && piece.text === bodyOf(listed);
  }

  /**
   * Stores a piece that is newer than all of its source; inside a transaction. Returns what makes it count,
   * to be called once the transaction has ended.
   * Why: a report that says the same as before costs no row while nothing is suspected. What a crash then
   * loses is its place; a copy of it that arrives after that is taken for a new one, but lists only what
   * the stored piece lists, and from the first suspicion on every place is stored. The stored place may lag
   * by `lagMs`, so that what was called alive lately counts as alive after a crash too.
   */
  keep(
    source: SourceName,
    taken: Place,
    listed: Listed,
    { isSuspecting, lagMs }: { readonly isSuspecting: boolean; readonly lagMs: number },
  ): () => void {
    const known = this.#known().get(source) ?? {};
    const place = taken.complete ? taken : { ...taken, ...forgottenAfter(replaced(known.newer)) };
    const slot: Slot = place.complete ? "complete" : "newer";
    const before = known[slot];
    const text = bodyOf(listed);
    const isSame = before !== undefined && before.text === text && known.newer === undefined;
    const isDue = !isSame || isSuspecting || Math.abs(place.takenAt - before.savedAt) >= lagMs;
    if (before?.text !== text) saveBody(this.#store, source, slot, text);
    if (isDue) savePlace(this.#store, source, slot, place);
    if (place.complete && known.newer !== undefined) dropPiece(this.#store, source, "newer");
    const savedAt = isDue ? place.takenAt : before.savedAt;
    const piece = pieceOf(source, place, text, savedAt);
    const next: Pieces = place.complete ? { complete: piece } : { ...known, newer: piece };
    const spare = known.complete === undefined && known.newer === undefined ? this.#spare() : undefined;
    for (const one of ["complete", "newer"] as const)
      if (spare !== undefined) dropPiece(this.#store, spare, one);
    return () => {
      this.#known().set(source, next);
      if (spare !== undefined) this.#known().delete(spare);
    };
  }

  /**
   * Takes note of the clock as the host asks or tells something: if it was set back, what was heard is dated anew.
   * Why: what is handed out next would seem older than a list that was made before it, and that list later than
   * the next one, once the clock has come so far again.
   */
  clocked(now: number): void {
    if (!this.#isAheadOf(now)) return;
    this.#store.transaction(() => {
      this.refresh();
      for (const [source, pieces] of this.#known()) {
        for (const slot of ["complete", "newer"] as const) {
          const piece = pieces[slot];
          if (piece !== undefined) savePlace(this.#store, source, slot, datedBy(piece.place, now));
        }
      }
    });
    this.#pieces = undefined;
  }

  /** Whether a piece that memory has seems to come from the future. */
  #isAheadOf(now: number): boolean {
    for (const pieces of this.#pieces?.values() ?? []) {
      for (const piece of [pieces.complete, pieces.newer])
        if (piece !== undefined && datedBy(piece.place, now) !== piece.place) return true;
    }
    return false;
  }

  /** Stores all places that only memory has; inside the transaction that stores a suspicion. */
  savePlaces(): void {
    for (const [source, pieces] of this.#known()) {
      for (const slot of ["complete", "newer"] as const) {
        const piece = pieces[slot];
        if (piece === undefined || piece.savedAt === piece.place.takenAt) continue;
        savePlace(this.#store, source, slot, piece.place);
        const saved = { ...piece, savedAt: piece.place.takenAt };
        this.#known().set(source, { ...this.#known().get(source), [slot]: saved });
      }
    }
  }

  /**
   * Reads all again if storage holds other pieces than this instance has stored: an old one may have lived
   * on, and a host whose removal is over is forgotten with all that it told.
   */
  refresh(): void {
    if (this.#pieces === undefined) return;
    const known = this.#pieces;
    const stored = readPlaces(this.#store);
    const count = [...known.values()].flatMap((pieces) => Object.keys(pieces)).length;
    const isStrange = stored.some(({ source, slot, place }) => {
      const piece = known.get(source)?.[slot];
      if (piece?.savedAt !== place.takenAt) return true;
      const { generation, sequence, takenAt } = piece.place;
      const isOther = generation !== place.generation || sequence !== place.sequence;
      return takenAt === place.takenAt && isOther;
    });
    if (isStrange || stored.length !== count) this.#pieces = undefined;
  }

  #known(): Map<SourceName, Pieces> {
    if (this.#pieces !== undefined) return this.#pieces;
    const pieces = new Map<SourceName, Pieces>();
    for (const { source, slot, place } of readPlaces(this.#store)) {
      const piece = pieceOf(source, place, readBody(this.#store, source, slot), place.takenAt);
      pieces.set(source, { ...pieces.get(source), [slot]: piece });
    }
    this.#pieces = pieces;
    return pieces;
  }

  /** The network to forget, when there are too many. */
  #spare(): SourceName | undefined {
    const networks = [...this.#known()].filter(([source]) => source !== "report");
    if (networks.length < NETWORKS_MAX) return undefined;
    const age = ({ complete }: Pieces) => complete?.place.takenAt ?? 0;
    return networks.toSorted(([, one], [, other]) => age(one) - age(other))[0]?.[0];
  }
}

/** Suspicions that a piece does not contradict: what it calls alive is cleared as it arrives. */
export function uncontradicted(rows: readonly LeakRow[], evidence: Evidence): LeakRow[] {
  return rows.filter(({ subject }) => evidence.says(subject, kindOf(subject)) !== "alive");
}

function replaced(piece: Piece | undefined): Parameters<typeof forgottenAfter>[0] {
  if (piece === undefined) return undefined;
  const { takenAt, forgottenAt } = piece.place;
  return { takenAt, forgottenAt, isEmpty: piece.count === 0 };
}

/** Reads a piece for lookups. */
export function evidenceOf(source: SourceName, place: Place, listed: Listed): Evidence {
  const { generation, sequence, takenAt, complete, forgottenAt } = place;
  if (source === "report") {
    const workloads = listed as readonly ReportedWorkload[];
    const evidence = reportEvidence({ source, generation, sequence, takenAt }, { complete, workloads });
    return forgottenAt === undefined ? evidence : { ...evidence, forgottenAt };
  }
  const network = source.slice("attachments:".length);
  return attachmentsEvidence(network, { generation, sequence, takenAt }, listed as readonly string[]);
}

function pieceOf(source: SourceName, place: Place, text: string, savedAt: number): Piece {
  const listed = JSON.parse(text) as Listed;
  return { place, text, count: listed.length, evidence: evidenceOf(source, place, listed), savedAt };
}

/** One text for one content, in whatever order it came; plain ASCII, so that it can be cut anywhere. */
function bodyOf(listed: Listed): string {
  const entries = listed.map((entry) => JSON.stringify(typeof entry === "string" ? entry : plain(entry)));
  const text = `[${entries.toSorted().join(",")}]`;
  return text.replace(/[\u0080-\uffff]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Only what is looked at, in one order. */
function plain({ handle, namespace, pod, uid, addresses }: ReportedWorkload): ReportedWorkload {
  return {
    ...(handle === undefined ? {} : { handle }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(pod === undefined ? {} : { pod }),
    ...(uid === undefined ? {} : { uid }),
    addresses: [...addresses].sort(),
  };
}
