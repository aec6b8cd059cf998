/**
 * A block as plainly as it can be said: every ordinal in an array, every past tenure kept for ever.
 * May import: types of core only. Rule: it shares no code with what it is compared with.
 */
import type { AddressRecord, BlockCounts } from "../../src/core/allocation.ts";
import type { HoldingsAnswer, LeakedItem } from "../../src/core/block-leaks.ts";
import type {
  AddressRelease,
  AddressReleaseOutcome,
  AllocateItem,
  AllocateOutcome,
  BlockPolicy,
  ClaimAnswer,
  ClaimRequest,
  HoldsAnswer,
  KeyRelease,
  ReleaseAffinityAnswer,
  ReleaseAffinityRequest,
  ReuseAnswer,
  ReuseRequest,
  UndoItem,
} from "../../src/core/block-messages.ts";
import type { Family } from "../../src/core/errors.ts";

type Wish = Pick<AllocateItem, "handle" | "key" | "host" | "use" | "attributes" | "leakCollection">;
interface Held extends Wish {
  attributes: Wish["attributes"];
  alternateAttributes?: Wish["attributes"];
  /** Another host that got it too. */
  usedOn?: string;
  attempt?: string | undefined;
  granted: number;
  sequenceNumber: number;
  touch: number;
  allocatedAt: number;
}
interface Past extends Held {
  releasedAt: number;
  freedAt: number;
  /** The touch at which it was proven leaked. */
  leakedAt?: number | undefined;
}
interface Slot {
  readonly ordinal: number;
  held?: Held | undefined;
  /** Newest first. */
  past: Past[];
  /** Number of the ordinal's last transition, and the time of it. */
  touch: number;
  touchedAt: number;
}
export type SlotState = "free" | "allocated" | "cooling" | "host_reserved";

function bySequence(one: Slot, other: Slot): number {
  return (one.held?.sequenceNumber ?? 0) - (other.held?.sequenceNumber ?? 0);
}

export interface ModelShape {
  readonly block: string;
  readonly family: Family;
  readonly capacity: number;
  addressOf(ordinal: number): string;
  ordinalOf(address: string): number | undefined;
  readonly times: { readonly skewMs: number; readonly untilMs: number; readonly spentKeyMs: number };
}

export class BlockModel {
  readonly #shape: ModelShape;
  slots: Slot[];
  owner: string | undefined;
  epoch = 0;
  counter = 0;
  clock = 0;
  /** The latest time at which anything was stored. */
  storedAt = 0;
  #isWritten = false;
  #incarnation = 0;
  #ends: { start: number; end: number } | undefined;
  /** Epoch of a release of the affinity that was refused. */
  #keptAt: number | undefined;
  #retiredEpoch: number | undefined;
  /** Attempts whose addresses were put back, and when. */
  readonly #undone: { handle: string; key: string; attempt: string; at: number }[] = [];

  constructor(shape: ModelShape) {
    this.#shape = shape;
    this.slots = this.#unused();
  }

  get now(): number {
    return Math.max(this.clock, this.storedAt);
  }

  stateOf(slot: Slot, cooldownMs: number): SlotState {
    const { start, end } = this.#ends ?? { start: 0, end: 0 };
    if (slot.ordinal < start || slot.ordinal >= this.#shape.capacity - end) return "host_reserved";
    return this.#used(slot, cooldownMs);
  }

  counts({ reserved, cooldownMs }: BlockPolicy): BlockCounts {
    const isReserved = ({ ordinal }: Slot) => reserved.some(([a, b]) => a <= ordinal && ordinal <= b);
    const all = this.slots.map((slot) => ({ slot, state: this.stateOf(slot, cooldownMs) }));
    const of = (state: SlotState) => all.filter((one) => one.state === state).map(({ slot }) => slot);
    const waits = of("cooling").filter((slot) => !isReserved(slot));
    const times = waits.map((slot) => (slot.past[0]?.releasedAt ?? 0) + cooldownMs);
    return {
      capacity: this.slots.length,
      allocated: of("allocated").length,
      cooling: of("cooling").length,
      hostReserved: of("host_reserved").length,
      free: of("free").length,
      reserved: this.slots.filter(isReserved).length,
      available: of("free").filter((slot) => !isReserved(slot)).length,
      borrowed: of("allocated").filter(({ held }) => held?.host !== this.owner).length,
      ...(times.length === 0 ? {} : { nextFreeAt: times.reduce((one, other) => Math.min(one, other)) }),
      ...this.#steps(of("cooling"), isReserved, cooldownMs),
      asOf: this.now,
    };
  }

  /** At most eight steps: one is full when it holds its share and the next address is free later. */
  #steps(cooling: readonly Slot[], isReserved: (slot: Slot) => boolean, cooldownMs: number) {
    const freeAt = (slot: Slot): number => (slot.past[0]?.releasedAt ?? 0) + cooldownMs;
    const steps: { at: number; count: number; open: number }[] = [];
    for (const slot of cooling.toSorted((one, other) => freeAt(one) - freeAt(other))) {
      const last = steps.at(-1);
      const isFull = last === undefined || last.count >= Math.ceil(cooling.length / 8);
      if (isFull && last?.at !== freeAt(slot))
        steps.push({ at: freeAt(slot), count: 1, open: isReserved(slot) ? 0 : 1 });
      else if (last !== undefined) {
        last.at = freeAt(slot);
        last.count += 1;
        last.open += isReserved(slot) ? 0 : 1;
      }
    }
    return steps.length === 0 ? {} : { coolingSteps: steps };
  }

  claim(request: ClaimRequest): ClaimAnswer {
    if (this.now > request.until) return { kind: "late" };
    const refused = (): ClaimAnswer => ({ kind: "refused", ...this.#named(), epoch: this.epoch });
    if (request.epoch <= this.epoch) return refused();
    if (this.owner !== undefined && this.owner !== request.owner) return refused();
    const isBirth = this.owner === undefined;
    const isFree = this.slots.every((slot) => this.#used(slot, request.cooldownMs) === "free");
    this.#store(request.epoch, request.incarnation);
    if (isBirth && !isFree) return refused();
    if (isBirth) this.#ends = request.hostReserved;
    this.owner = request.owner;
    return { kind: "accepted", counts: this.counts({ reserved: [], cooldownMs: request.cooldownMs }) };
  }

  releaseAffinity(request: ReleaseAffinityRequest): ReleaseAffinityAnswer {
    const { owner, epoch, mustBeEmpty, cooldownMs, incarnation } = request;
    if (epoch < this.epoch) return { kind: "stale", ...this.#named(), epoch: this.epoch };
    if (this.owner !== undefined && this.owner !== owner) {
      return { kind: "not_owner", ...this.#named(), epoch: this.epoch };
    }
    const used = this.slots.map((slot) => this.#used(slot, cooldownMs));
    const allocated = used.filter((state) => state === "allocated").length;
    const cooling = used.filter((state) => state === "cooling").length;
    if (epoch === this.#keptAt) return { kind: "block_not_empty", allocated, cooling };
    const isStored = this.owner !== undefined || epoch > this.epoch;
    if (isStored) this.#store(epoch, incarnation);
    if (this.owner !== undefined && mustBeEmpty && allocated + cooling > 0) {
      this.#keptAt = epoch;
      return { kind: "block_not_empty", allocated, cooling };
    }
    this.owner = undefined;
    if (isStored && allocated + cooling === 0) this.#ends = undefined;
    return { kind: allocated + cooling === 0 ? "closed" : "draining" };
  }

  /** `saysSpent`: what the other side said, taken over where forgetting and remembering are both right. */
  allocate(item: AllocateItem, saysSpent: boolean): AllocateOutcome {
    const { policy, finalAfter } = item;
    const mine = this.#holding(item.handle, item.key);
    if (mine.length > 0) {
      const isRepeat = this.#isRepeat(mine, item.attempt);
      if (!isRepeat) for (const slot of mine) this.#touch(slot);
      const records = mine.map((slot) => this.record(slot, policy.cooldownMs));
      if (isRepeat) return { kind: "created", records, counts: this.counts(policy) };
      return { kind: "found", records, granted: mine[0]?.held?.granted ?? 0, counts: this.counts(policy) };
    }
    if (this.#isSpent(item.handle, item.key, saysSpent))
      return { kind: "spent", counts: this.counts(policy) };
    if (this.now > item.until || this.#wasUndone(item)) return { kind: "late" };
    const final = this.#isFinal(finalAfter);
    if (item.replayOnly === true) return { kind: "full", final, counts: this.counts(policy) };
    const isOpen = this.owner !== undefined || this.slots.some(({ held }) => held !== undefined);
    const suits = item.owner === undefined || item.owner === this.owner;
    if (!isOpen || !suits || (item.strict && item.host !== this.owner)) {
      return { kind: "affinity_lost", ...this.#named(), final };
    }
    const chosen = item.ordinal === undefined ? this.#queue(policy).slice(0, item.count) : [];
    const exact = item.ordinal === undefined ? undefined : this.slots[item.ordinal];
    if (exact !== undefined) {
      const state = this.stateOf(exact, policy.cooldownMs);
      if (state !== "free") {
        if (exact.held?.handle === item.handle) this.#touchFor(exact, item.host);
        return this.#taken(exact, state, policy, final);
      }
      chosen.push(exact);
    }
    if (chosen.length === 0) return { kind: "full", final, counts: this.counts(policy) };
    for (const slot of chosen) this.#give(slot, item, chosen.length);
    const records = chosen.map((slot) => this.record(slot, policy.cooldownMs));
    return { kind: "created", records, counts: this.counts(policy) };
  }

  undo({ handle, key, addresses }: UndoItem): string[] {
    const undone = this.#holding(handle, key).filter(({ ordinal, touch }) =>
      addresses.some((one) => one.address === this.#shape.addressOf(ordinal) && one.touch === touch),
    );
    for (const slot of undone) {
      const attempt = slot.held?.attempt;
      if (attempt !== undefined) this.#undone.push({ handle, key, attempt, at: this.now });
      slot.held = undefined;
      this.#touch(slot);
    }
    return undone.map(({ ordinal }) => this.#shape.addressOf(ordinal));
  }

  get #inFlightMs(): number {
    return this.#shape.times.untilMs + 2 * this.#shape.times.skewMs;
  }

  /** A copy of a message whose effect was undone creates nothing as long as it may arrive. */
  #wasUndone({ handle, key, attempt }: AllocateItem): boolean {
    return this.#undone.some(
      (one) =>
        one.handle === handle &&
        one.key === key &&
        one.attempt === attempt &&
        this.now - one.at < this.#inFlightMs,
    );
  }

  /** What the keys hold ends in the order of addresses; each key tells its own in the order it got them. */
  releaseKeys(
    handle: string,
    keys: readonly { readonly key: string; readonly finalAfter: number }[],
    { cooldownMs, onlyHost, saysSpent }: { cooldownMs: number; onlyHost?: string; saysSpent: boolean[] },
  ): KeyRelease[] {
    const isMine = ({ held }: Slot) => onlyHost === undefined || held?.host === onlyHost;
    const asked = keys.map((one) => {
      const all = this.#holding(handle, one.key);
      return { ...one, mine: all.filter(isMine), isKept: !all.every(isMine) };
    });
    for (const slot of this.slots) if (asked.some(({ mine }) => mine.includes(slot))) this.#end(slot);
    return asked.map(({ key, finalAfter, mine, isKept }, place) => {
      const records = mine.map((slot) => {
        const { attributes: _one, alternateAttributes: _other, ...record } = this.record(slot, cooldownMs);
        return record;
      });
      if (isKept) return { key, outcome: "kept", records };
      const isOver = mine.length > 0 || this.#isSpent(handle, key, saysSpent[place] === true);
      if (isOver) return { key, outcome: "released", records };
      return { key, outcome: this.#isFinal(finalAfter) ? "absent" : "not_final", records };
    });
  }

  holds(handle: string, key: string, finalAfter: number, saysSpent: boolean): HoldsAnswer {
    const counts = [this.#holding(handle, key).length];
    if (counts[0] !== 0) return { held: ["held"], counts };
    if (this.#isSpent(handle, key, saysSpent)) return { held: ["released"], counts };
    return { held: [this.#isFinal(finalAfter) ? "not_held" : "not_final"], counts };
  }

  reuse({ handle, keys, take, ownerSlot, attributes, host, until, cooldownMs }: ReuseRequest): ReuseAnswer {
    if (this.now > until) return { kind: "late" };
    const held = keys.flatMap((key) => this.#holding(handle, key)).sort(bySequence);
    if (held.length < take) return { kind: "fewer", held: held.length };
    const taken = held.slice(0, take);
    for (const slot of taken) {
      this.#touchFor(slot, host);
      if (slot.held === undefined || ownerSlot === undefined) continue;
      if (ownerSlot === "active") slot.held.attributes = attributes;
      else slot.held.alternateAttributes = attributes;
    }
    return { kind: "reused", records: taken.map((slot) => this.record(slot, cooldownMs)) };
  }

  releaseAddress(item: AddressRelease, cooldownMs: number): AddressReleaseOutcome {
    const { address } = item;
    const slot = this.slots[this.#shape.ordinalOf(address) ?? -1];
    if (slot === undefined) return { kind: "not_in_any_block", address };
    const reject = (
      code: Extract<AddressReleaseOutcome, { kind: "rejected" }>["code"],
      sequenceNumber: number,
    ) => ({ kind: "rejected", address, code, sequenceNumber }) as const;
    if (this.stateOf(slot, cooldownMs) === "host_reserved") return reject("address_taken", this.counter);
    const last = slot.held ?? slot.past[0];
    if (last === undefined) return { kind: "already_free", address };
    const { sequenceNumber, handle, host } = last;
    const isForeign = item.onlyHost !== undefined && item.onlyHost !== host;
    if (slot.held !== undefined && isForeign) return reject("host_mismatch", sequenceNumber);
    const isStale = item.sequenceNumber !== undefined && item.sequenceNumber !== sequenceNumber;
    if (isStale) return reject("sequence_mismatch", sequenceNumber);
    const freeAt = () => (slot.past[0]?.releasedAt ?? 0) + cooldownMs;
    if (slot.held === undefined) return { kind: "already_free", address, freeAt: freeAt() };
    if (item.handle !== undefined && item.handle !== handle) return reject("handle_mismatch", sequenceNumber);
    this.#end(slot);
    return { kind: "released", address, handle, freeAt: freeAt(), sequenceNumber };
  }

  /** `saysReleased`: taken over where forgetting and remembering an ended tenure are both right. */
  releaseLeaked(
    { address, handle, touch }: LeakedItem,
    until: number,
    saysReleased: boolean,
  ): "released" | "moved_on" | "late" {
    const slot = this.slots[this.#shape.ordinalOf(address) ?? -1];
    if (slot?.held !== undefined && slot.held.handle === handle && slot.touch === touch) {
      if (this.now > until) return "late";
      this.#end(slot, touch);
      return "released";
    }
    const place = slot?.past.findIndex((past) => past.leakedAt === touch && past.handle === handle) ?? -1;
    const past = slot?.past[place];
    if (past === undefined) return "moved_on";
    const mustKnow = place === 0 || this.now - past.releasedAt < this.#inFlightMs;
    return mustKnow || saysReleased ? "released" : "moved_on";
  }

  holdings(host: string, cooldownMs: number): HoldingsAnswer {
    const held = this.slots.filter((slot) => slot.held !== undefined);
    const own = held.filter((slot) => slot.held?.host === host);
    const incarnation = this.#incarnation;
    return {
      number: this.counter,
      epoch: this.epoch,
      ...this.#named(),
      ...(this.#isWritten ? { pool: { name: "p", incarnation } } : {}),
      own: own.length,
      lent: held.length - own.length,
      cooling: this.slots.filter((slot) => this.#used(slot, cooldownMs) === "cooling").length,
      subjects: own.map((slot) => this.#subject(slot, cooldownMs)),
    };
  }

  #subject(slot: Slot, cooldownMs: number) {
    const {
      family: _f,
      blockOwner: _o,
      state: _s,
      key: _k,
      allocatedAt: _a,
      ...subject
    } = this.record(slot, cooldownMs);
    const { usedOn } = slot.held ?? {};
    return { ...subject, ...(usedOn === undefined ? {} : { usedOn }), touchedAt: slot.touchedAt };
  }

  /** The epoch to tell the Pool, when all is over and cooled and no late message can ask any more. */
  retire(cooldownMs: number): number | undefined {
    const waitMs = Math.max(cooldownMs, this.#inFlightMs);
    const isOver = ({ held, past }: Slot) =>
      held === undefined && (past[0]?.releasedAt ?? -waitMs) + waitMs <= this.now;
    const isDue = this.#isWritten && this.owner === undefined && this.#retiredEpoch !== this.epoch;
    const mayArrive = this.#undone.some(({ at }) => this.now - at < this.#inFlightMs);
    if (!isDue || mayArrive || !this.slots.every(isOver)) return undefined;
    // A key stays spent for its time, whoever has the block by then.
    const forgottenAt = this.now - this.#shape.times.spentKeyMs;
    const isOld = ({ past }: Slot) => (past[0]?.releasedAt ?? forgottenAt) <= forgottenAt;
    if (this.slots.every(isOld)) this.slots = this.#unused();
    this.#ends = undefined;
    this.storedAt = this.now;
    return this.epoch;
  }

  noteRetired(epoch: number): void {
    if (!this.#isWritten || this.owner !== undefined || epoch !== this.epoch) return;
    this.#retiredEpoch = epoch;
    this.storedAt = this.now;
  }

  record(slot: Slot, cooldownMs: number): AddressRecord {
    const tenure = slot.held ?? slot.past[0];
    if (tenure === undefined) throw new Error("the model has no record of an unused ordinal");
    const { handle, key, host, use, attributes, leakCollection, sequenceNumber, allocatedAt } = tenure;
    const { alternateAttributes } = tenure;
    const releasedAt = slot.held === undefined ? slot.past[0]?.releasedAt : undefined;
    return {
      address: this.#shape.addressOf(slot.ordinal),
      family: this.#shape.family,
      block: this.#shape.block,
      ...(this.owner === undefined ? {} : { blockOwner: this.owner }),
      state: slot.held === undefined ? "cooling" : "allocated",
      handle,
      key,
      host,
      use,
      attributes,
      ...(alternateAttributes === undefined ? {} : { alternateAttributes }),
      leakCollection,
      sequenceNumber,
      touch: slot.touch,
      allocatedAt,
      ...(releasedAt === undefined ? {} : { releasedAt, freeAt: releasedAt + cooldownMs }),
    };
  }

  #used({ held, past }: Slot, cooldownMs: number): Exclude<SlotState, "host_reserved"> {
    if (held !== undefined) return "allocated";
    const last = past[0];
    return last !== undefined && this.now < last.releasedAt + cooldownMs ? "cooling" : "free";
  }

  /** Never used ones by address, then the one freed first (I12); reserved ones stay where they are. */
  #queue({ reserved, cooldownMs }: BlockPolicy): Slot[] {
    const place = ({ past, ordinal }: Slot) => past[0]?.freedAt ?? ordinal - this.slots.length;
    return this.slots
      .filter((slot) => this.stateOf(slot, cooldownMs) === "free")
      .filter(({ ordinal }) => !reserved.some(([first, last]) => first <= ordinal && ordinal <= last))
      .sort((one, other) => place(one) - place(other));
  }

  #taken(
    slot: Slot,
    state: Exclude<SlotState, "free">,
    policy: BlockPolicy,
    final: boolean,
  ): AllocateOutcome {
    const releasedAt = slot.past[0]?.releasedAt ?? 0;
    return {
      kind: "taken",
      state,
      ...(slot.held === undefined && slot.past.length === 0
        ? {}
        : { record: this.record(slot, policy.cooldownMs) }),
      ...(state === "cooling" ? { freeAt: releasedAt + policy.cooldownMs } : {}),
      final,
      counts: this.counts(policy),
    };
  }

  #give(slot: Slot, item: AllocateItem, granted: number): void {
    this.#touch(slot);
    const { handle, key, host, use, attributes, leakCollection } = item;
    const wish = { handle, key, host, use, attributes, leakCollection };
    const [sequenceNumber, touch] = [slot.touch, slot.touch];
    const { attempt } = item;
    slot.held = { ...wish, attempt, granted, sequenceNumber, touch, allocatedAt: this.now };
  }

  #end(slot: Slot, leakedAt?: number): void {
    this.#touch(slot);
    if (slot.held !== undefined)
      slot.past.unshift({ ...slot.held, releasedAt: this.now, freedAt: slot.touch, leakedAt });
    slot.held = undefined;
  }

  /** A hand-out of what is held already, perhaps to another host. */
  #touchFor(slot: Slot, host: string | undefined): void {
    this.#touch(slot);
    if (slot.held !== undefined && host !== undefined && host !== slot.held.host) slot.held.usedOn = host;
  }

  #touch(slot: Slot): void {
    this.counter += 1;
    slot.touch = this.counter;
    slot.touchedAt = this.now;
    this.storedAt = this.now;
  }

  /** The attempt that created all of it asks again, and nobody was told of it since. */
  #isRepeat(mine: readonly Slot[], attempt: string | undefined): boolean {
    const isUntouched = mine.every(
      ({ held, touch }) => held?.attempt === attempt && held?.sequenceNumber === touch,
    );
    return attempt !== undefined && isUntouched && mine.length === mine[0]?.held?.granted;
  }

  #holding(handle: string, key: string): Slot[] {
    return this.slots.filter(({ held }) => held?.handle === handle && held.key === key).sort(bySequence);
  }

  /** Must be remembered: the last tenure, one younger than a message can be, and 16 of ten minutes. */
  #isSpent(handle: string, key: string, saysSpent: boolean): boolean {
    const { untilMs, skewMs, spentKeyMs } = this.#shape.times;
    const traces = this.slots.flatMap(({ past }) =>
      past.map((tenure, place) => ({ tenure, place, ageMs: this.now - tenure.releasedAt })),
    );
    const ofKey = traces.filter(({ tenure }) => tenure.handle === handle && tenure.key === key);
    const isKept = ofKey.some(
      ({ place, ageMs }) => place === 0 || ageMs < untilMs + 2 * skewMs || (place < 16 && ageMs < spentKeyMs),
    );
    return isKept || (saysSpent && ofKey.length > 0);
  }

  #isFinal(finalAfter: number | undefined): boolean {
    return finalAfter === undefined || this.now > finalAfter + this.#shape.times.skewMs;
  }

  #store(epoch: number, incarnation: number): void {
    this.#isWritten = true;
    this.epoch = epoch;
    this.#incarnation = Math.max(this.#incarnation, incarnation);
    this.counter = Math.max(this.counter, this.#incarnation * 2 ** 36);
    this.#retiredEpoch = undefined;
    this.storedAt = this.now;
  }

  #named(): { owner?: string } {
    return this.owner === undefined ? {} : { owner: this.owner };
  }

  #unused(): Slot[] {
    return Array.from({ length: this.#shape.capacity }, (_, ordinal) => ({
      ordinal,
      past: [],
      touch: 0,
      touchedAt: 0,
    }));
  }
}
