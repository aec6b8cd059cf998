/**
 * What must hold when nothing is under way: listing, handles, blocks and hosts tell one story.
 * May import: the test client. Everything is read over HTTP.
 */
import type { AnswerBody, HttpClient, WireAllocation } from "../../support/http-client.ts";

interface WireBlock {
  readonly name: string;
  readonly cidr: string;
  readonly pool: string;
  readonly affinity?: { readonly name: string; readonly state: string };
  readonly capacity: number;
  readonly allocated: number;
  readonly cooling: number;
  readonly hostReserved?: number;
  readonly reserved: number;
  readonly available: number;
  readonly borrowed: number;
  readonly sequenceNumber: number;
  readonly map: string;
}

interface WireFamily {
  readonly owned: number;
  readonly pending: number;
  readonly cap: number;
}

interface WireHost {
  readonly name: string;
  readonly ipv4: WireFamily;
  readonly ipv6: WireFamily;
}

/** Everything that can be read of a quiet service. */
export interface Picture {
  readonly allocations: readonly WireAllocation[];
  readonly blocks: readonly WireBlock[];
  readonly hosts: readonly WireHost[];
}

/** Reads it all; the caller sees that nothing is under way. */
export async function takePicture(client: HttpClient, hosts: readonly string[]): Promise<Picture> {
  const allocations = await client.all<WireAllocation>("/v1/allocations");
  const blocks = await client.all<WireBlock>("/v1/blocks?exact=true&map=true");
  const views = await Promise.all(hosts.map((host) => client.must("GET", `/v1/hosts/${host}`)));
  return { allocations, blocks, hosts: views as unknown as WireHost[] };
}

/** Finds what contradicts itself in a picture, by invariant. */
export async function checkAgreement(client: HttpClient, picture: Picture): Promise<string[]> {
  return [
    ...picture.blocks.flatMap((block) => checkBlock(block, picture.allocations)),
    ...checkListing(picture),
    ...(await checkHandles(client, picture.allocations)),
    ...picture.hosts.flatMap((host) => checkHost(host, picture.blocks)),
  ];
}

function same(what: string, one: unknown, other: unknown): string[] {
  return one === other ? [] : [`${what}: ${String(one)} is not ${String(other)}`];
}

/** I2, I14: one state per ordinal; figures, map and listing of a block are one snapshot's. */
function checkBlock(block: WireBlock, allocations: readonly WireAllocation[]): string[] {
  const { name, map, capacity, allocated, cooling, reserved, available, hostReserved = 0 } = block;
  const mine = allocations.filter((allocation) => allocation.block === block.cidr);
  const inMap = (states: string): number => [...map].filter((state) => states.includes(state)).length;
  const owner = block.affinity?.name;
  // What is free of a block without an owner is handed out to nobody, and so it is not available.
  const free = owner === undefined ? inMap(".") : available;
  // `reserved` counts what lies in reservations, held or not; the map shows what of it is free.
  const keptBack = inMap("r") + hostReserved;
  return [
    ...same(`I2 ${name} partition`, allocated + cooling + free + keptBack, capacity),
    ...(inMap("r") <= reserved ? [] : [`I14 ${name} reserved in map: more than ${reserved}`]),
    ...same(`I2 ${name} map length`, map.length, capacity),
    ...same(`I14 ${name} allocated in map`, inMap("#b"), allocated),
    ...same(`I14 ${name} cooling in map`, inMap("c"), cooling),
    ...same(`I14 ${name} available`, available, owner === undefined ? 0 : inMap(".")),
    ...same(`I14 ${name} listed`, mine.length, allocated),
    ...same(`I14 ${name} borrowed`, mine.filter(({ host }) => host !== owner).length, block.borrowed),
    ...mine.flatMap(({ address, sequenceNumber }) =>
      sequenceNumber <= block.sequenceNumber ? [] : [`I3 ${address} is ahead of ${name}`],
    ),
  ];
}

/** I1, I5: an address is listed once, and its block is in the directory. */
function checkListing({ allocations, blocks }: Picture): string[] {
  const addresses = new Set(allocations.map(({ address }) => address));
  const names = new Set(blocks.map(({ cidr }) => cidr));
  return [
    ...same("I1 addresses listed once", addresses.size, allocations.length),
    ...same("I6 blocks listed once", names.size, blocks.length),
    ...allocations.flatMap(({ block }) => (names.has(block) ? [] : [`I5 the directory misses ${block}`])),
  ];
}

/** I5: what the blocks hold for a handle is what is found under it. */
async function checkHandles(client: HttpClient, allocations: readonly WireAllocation[]): Promise<string[]> {
  const byHandle = Map.groupBy(allocations, ({ handle }) => handle);
  const wrong = await Promise.all(
    [...byHandle].map(async ([handle, listed]) => {
      const { items = [] } = await client.must("GET", `/v1/handles/${handle}`);
      return same(`I5 ${handle}`, addressesOf(items as AnswerBody[]), addressesOf(listed));
    }),
  );
  return wrong.flat();
}

function addressesOf(items: readonly AnswerBody[]): string {
  return items
    .filter(({ state }) => state === "allocated")
    .map(({ address, sequenceNumber }) => `${address}#${sequenceNumber}`)
    .toSorted()
    .join();
}

/** I6: a host's confirmed rows are the blocks that name it, family by family. */
function checkHost({ name, ipv4, ipv6 }: WireHost, blocks: readonly WireBlock[]): string[] {
  const naming = blocks.filter(({ affinity }) => affinity?.name === name && affinity.state === "confirmed");
  const six = naming.filter(({ cidr }) => cidr.includes(":")).length;
  return [
    ...same(`I6 ${name} owns of IPv4`, ipv4.owned, naming.length - six),
    ...same(`I6 ${name} owns of IPv6`, ipv6.owned, six),
  ];
}
