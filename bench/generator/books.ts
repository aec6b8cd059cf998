/**
 * What was acknowledged on one service and not released, to be compared with what it stores at the end.
 * May import: the plan's types. Rule: an allocation is an address and its handle; neither stands for the other.
 */
import type { Books } from "./plan.ts";

const ADDRESS = '"address":"';
const HANDLE = '"handle":"';
/** Of what differs, so many are told by name. */
const TOLD = 3;

/** Every allocation that a text of the API names, as `address handle`. */
export function allocationsIn(text: string): string[] {
  const found: string[] = [];
  for (let at = text.indexOf(ADDRESS); at >= 0; at = text.indexOf(ADDRESS, at + 1)) {
    const address = at + ADDRESS.length;
    // The API writes the handle after the address.
    const handle = text.indexOf(HANDLE, address) + HANDLE.length;
    const of = handle < HANDLE.length ? "" : text.slice(handle, text.indexOf('"', handle));
    found.push(`${text.slice(address, text.indexOf('"', address))} ${of}`);
  }
  return found;
}

/** Takes out what one operation both gave and freed. */
export function balanced(given: readonly string[], freed: readonly string[]): Books {
  if (freed.length === 0 || given.length === 0) return { given, freed };
  return {
    given: given.filter((one) => !freed.includes(one)),
    freed: freed.filter((one) => !given.includes(one)),
  };
}

/** The allocations of one service. */
export class Ledger {
  /** Handles by address. */
  readonly #held = new Map<string, string>();
  readonly #faults: string[] = [];

  get size(): number {
    return this.#held.size;
  }

  /** Enters what was acknowledged. Returns: in words, what cannot be; it stays a fault. */
  enter({ given, freed }: Books): string | undefined {
    let fault: string | undefined;
    for (const one of given) {
      const [address = "", handle = ""] = one.split(" ");
      if (this.#held.has(address)) fault ??= `${address} was given twice`;
      this.#held.set(address, handle);
    }
    for (const one of freed) {
      const [address = "", handle = ""] = one.split(" ");
      if (this.#held.get(address) !== handle) fault ??= `${address} was freed, but not held by ${handle}`;
      else this.#held.delete(address);
    }
    if (fault !== undefined) this.#faults.push(fault);
    return fault;
  }

  /** Compares it with all that is stored. Returns: in words, what differs. */
  faults(stored: readonly string[]): string[] {
    const all = new Set(stored);
    const mine = new Set([...this.#held].map(([address, handle]) => `${address} ${handle}`));
    return [
      ...this.#faults,
      ...told("stored more than once", stored.length - all.size, []),
      ...differing("acknowledged and not released, but not stored", mine, all),
      ...differing("stored, but not acknowledged or released", all, mine),
    ];
  }
}

function differing(what: string, these: ReadonlySet<string>, those: ReadonlySet<string>): string[] {
  const only = [...these].filter((one) => !those.has(one));
  return told(what, only.length, only.slice(0, TOLD));
}

function told(what: string, count: number, some: readonly string[]): string[] {
  if (count === 0) return [];
  return [`${count} ${what}${some.length === 0 ? "" : ` (${some.join(", ")})`}`];
}
