/**
 * Things that become due at a time each, earliest first: a binary heap that can move its members.
 * May import: core only. Setting and removing cost the logarithm of the size.
 */

/** Invariant: no member is due before its parent; `#places` says where each stands. */
export class DueQueue<T> {
  readonly #heap: { member: T; at: number }[] = [];
  readonly #places = new Map<T, number>();

  /** The earliest time at which a member is due. */
  get nextAt(): number | undefined {
    return this.#heap[0]?.at;
  }

  /** Puts a member at a time, or moves it there; without a time it leaves. */
  set(member: T, at: number | undefined): void {
    const place = this.#places.get(member);
    if (at === undefined) {
      if (place !== undefined) this.#removeAt(place);
      return;
    }
    if (place === undefined) {
      this.#put({ member, at }, this.#heap.length);
      this.#settle(this.#heap.length - 1);
    } else {
      this.#put({ member, at }, place);
      this.#settle(place);
    }
  }

  /** Removes and returns a member that is due, if there is one. */
  take(now: number): T | undefined {
    const top = this.#heap[0];
    if (top === undefined || top.at > now) return undefined;
    this.#removeAt(0);
    return top.member;
  }

  #removeAt(place: number): void {
    const last = this.#heap.pop();
    const removed = this.#heap[place] ?? last;
    if (removed !== undefined) this.#places.delete(removed.member);
    if (last === undefined || last === removed) return;
    this.#put(last, place);
    this.#settle(place);
  }

  #settle(place: number): void {
    let at = place;
    while (at > 0 && this.#swapIfLater((at - 1) >> 1, at)) at = (at - 1) >> 1;
    for (;;) {
      const left = 2 * at + 1;
      const child = this.#timeAt(left + 1) < this.#timeAt(left) ? left + 1 : left;
      if (child >= this.#heap.length || !this.#swapIfLater(at, child)) return;
      at = child;
    }
  }

  #swapIfLater(parent: number, child: number): boolean {
    const upper = this.#heap[parent];
    const lower = this.#heap[child];
    if (upper === undefined || lower === undefined || upper.at <= lower.at) return false;
    this.#put(lower, parent);
    this.#put(upper, child);
    return true;
  }

  #timeAt(place: number): number {
    return this.#heap[place]?.at ?? Number.POSITIVE_INFINITY;
  }

  #put(entry: { member: T; at: number }, place: number): void {
    this.#heap[place] = entry;
    this.#places.set(entry.member, place);
  }
}
