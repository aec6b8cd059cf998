/**
 * A set whose members can be walked in a circle from any place.
 * May import: core only. Adding, removing and finding a place cost the same however many there are.
 */

/** Invariant: `#places` says where each member stands in `#members`. */
export class Rotation<T> {
  readonly #members: T[] = [];
  readonly #places = new Map<T, number>();

  add(member: T): void {
    if (this.#places.has(member)) return;
    this.#places.set(member, this.#members.length);
    this.#members.push(member);
  }

  /** Removes a member; the last one takes its place. */
  delete(member: T): void {
    const place = this.#places.get(member);
    if (place === undefined) return;
    const last = this.#members.pop() as T;
    this.#places.delete(member);
    if (last === member) return;
    this.#members[place] = last;
    this.#places.set(last, place);
  }

  /** Walks all members once, beginning at a place that the number picks. The set must not change meanwhile. */
  *from(pick: number): Generator<T> {
    const { length } = this.#members;
    for (let step = 0; step < length; step += 1) yield this.#members[(pick + step) % length] as T;
  }
}
