/**
 * A block of 64 addresses as one JSON document, as Calico's library keeps it: slots, queue, attributes.
 * Imports nothing. Rule: pure; a document is changed only in the memory of one attempt.
 */

/** Addresses of a block, /26, as the service's. */
export const BLOCK_SIZE = 64;

interface Attributes {
  readonly handle_id?: string;
  readonly releasedAt?: string;
}

export interface Block {
  readonly cidr: string;
  readonly affinity: string;
  readonly affinityClaimTime: string;
  /** One slot for each address: nothing, or a place in `attributes`. */
  allocations: (number | null)[];
  /** Places of free addresses, the next one first. */
  unallocated: number[];
  attributes: Attributes[];
  /** Calico counts nanoseconds, which JavaScript cannot hold: microseconds here. */
  sequenceNumber: number;
  sequenceNumberForAllocation: Record<string, number>;
}

export function newBlock(cidr: string, host: string, now: Date): Block {
  return {
    cidr,
    affinity: ownerOf(host),
    affinityClaimTime: now.toISOString(),
    allocations: Array.from({ length: BLOCK_SIZE }, () => null),
    unallocated: Array.from({ length: BLOCK_SIZE }, (_, ordinal) => ordinal),
    attributes: [],
    sequenceNumber: now.getTime() * 1_000,
    sequenceNumberForAllocation: {},
  };
}

export function ownerOf(host: string): string {
  return `host:${host}`;
}

export function hostOf({ affinity }: Block): string {
  return affinity.replace(/^host:/, "");
}

/** Takes the next free address for the handle; absent: the block is full. */
export function take(block: Block, handle: string): string | undefined {
  const ordinal = block.unallocated.shift();
  if (ordinal === undefined) return undefined;
  block.allocations[ordinal] = block.attributes.push({ handle_id: handle }) - 1;
  block.sequenceNumberForAllocation[ordinal] = block.sequenceNumber;
  block.sequenceNumber += 1;
  return addressOf(block, ordinal);
}

/** The places of the addresses that a handle holds here. */
export function placesOf(block: Block, handle: string): number[] {
  return block.allocations.flatMap((slot, ordinal) =>
    slot !== null && block.attributes[slot]?.handle_id === handle ? [ordinal] : [],
  );
}

/** Frees what the handle holds here; with no cooldown the same pass puts it back into the queue. */
export function giveBack(block: Block, handle: string, now: Date): number {
  const places = placesOf(block, handle);
  if (places.length === 0) return 0;
  const released = block.attributes.push({ releasedAt: now.toISOString() }) - 1;
  for (const ordinal of places) block.allocations[ordinal] = released;
  collect(block);
  block.sequenceNumber += 1;
  return places.length;
}

/** Puts released addresses back into the queue and drops attributes that nothing points to. */
export function collect(block: Block): void {
  if (!block.attributes.some(({ releasedAt }) => releasedAt !== undefined)) return;
  const places = new Map<number, number>();
  const kept: Attributes[] = [];
  block.allocations = block.allocations.map((slot, ordinal) => {
    const attributes = slot === null ? undefined : block.attributes[slot];
    if (slot === null || attributes === undefined) return null;
    if (attributes.releasedAt !== undefined) {
      block.unallocated.push(ordinal);
      delete block.sequenceNumberForAllocation[ordinal];
      return null;
    }
    const place = places.get(slot) ?? kept.push(attributes) - 1;
    places.set(slot, place);
    return place;
  });
  block.attributes = kept;
}

/** What is given out here, by handle; throws where an address is neither free nor given out, or both. */
export function heldIn(block: Block): { address: string; handle: string }[] {
  const free = new Set(block.unallocated);
  return block.allocations.flatMap((slot, ordinal) => {
    const handle = slot === null ? undefined : block.attributes[slot]?.handle_id;
    if (free.has(ordinal) === (handle !== undefined)) {
      throw new Error(`${addressOf(block, ordinal)} is not exactly one of free and given out`);
    }
    return handle === undefined ? [] : [{ address: addressOf(block, ordinal), handle }];
  });
}

export function addressOf({ cidr }: Pick<Block, "cidr">, ordinal: number): string {
  const [base = ""] = cidr.split("/");
  return textOf(numberOf(base) + ordinal);
}

export function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function textOf(address: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join(".");
}
