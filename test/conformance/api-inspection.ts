/**
 * Looks at blocks, affinities and handles through the HTTP API, in the words of the cases.
 * May import: core ranges, the rest of this folder.
 */
import { formatAddress, parseAddress } from "../../src/core/address.ts";
import { addressAt, type Cidr, containsAddress, ordinalOf, parseCidr } from "../../src/core/cidr.ts";
import { type ApiWorld, caseHandle } from "./api-connection.ts";
import { byText } from "./translation.ts";
import type { Operations } from "./vocabulary.ts";

/** An affinity as a case writes it. */
export interface AffinityText {
  readonly host: string;
  readonly type: string;
  readonly cidr: string;
  readonly state: string;
}

interface WireBlock {
  readonly name: string;
  readonly cidr: string;
  readonly affinity?: {
    readonly type: string;
    readonly name: string;
    readonly state: string;
    readonly claimedAt?: string;
  };
  readonly sequenceNumber: number;
  readonly map: string;
}

export function inspections(world: ApiWorld): Partial<Operations> {
  return {
    async inspectBlocks() {
      await world.connection.quiet();
      const blocks = (await world.all("/v1/blocks?map=true")).map(blockText);
      return { blocks: blocks.toSorted((one, other) => byText(one.cidr, other.cidr)), count: blocks.length };
    },
    async inspectAffinities({ host }) {
      const rows = await affinityRows(world);
      const affinities = rows
        .filter((row) => host === undefined || row.host === host)
        .toSorted((one, other) => byText(`${one.host} ${one.cidr}`, `${other.host} ${other.cidr}`));
      return { affinities, count: affinities.length };
    },
    async inspectHandles() {
      const handles: Record<string, Record<string, number>> = {};
      for (const { handle: text, block } of await world.all("/v1/allocations?state=allocated")) {
        const handle = caseHandle(text);
        if (handle === null) continue;
        const counts = handles[handle] ?? {};
        handles[handle] = counts;
        counts[block] = (counts[block] ?? 0) + 1;
      }
      return { handles };
    },
    readAllocation: ({ ip }) => readAllocation(world, ip),
  };
}

/** What each mark of a block's map is to the cases. */
const MARKS: Readonly<Record<string, "free" | "allocated" | "cooldown">> = {
  ".": "free",
  r: "free",
  "#": "allocated",
  b: "allocated",
  w: "allocated",
  c: "cooldown",
};

/** The order of the free queue is not to be seen from outside: free addresses stand by address. */
function blockText({ cidr, affinity, sequenceNumber, map }: WireBlock) {
  const range = rangeOf(cidr);
  const inState = (state: string): string[] =>
    [...map].flatMap((mark, ordinal) =>
      MARKS[mark] === state ? [formatAddress(addressAt(range, ordinal))] : [],
    );
  return {
    cidr,
    affinity: affinity?.state === "confirmed" ? `${affinity.type}:${affinity.name}` : null,
    claimTimeSet: affinity?.claimedAt !== undefined,
    allocated: inState("allocated"),
    cooldown: inState("cooldown"),
    free: inState("free"),
    sequenceNumber,
  };
}

function rangeOf(cidr: string): Cidr {
  const range = parseCidr(cidr);
  if (!range.ok) throw new Error(`${cidr}: ${range.error.message}`);
  return range.value;
}

/** What every owner that ever entered itself remembers of its blocks. */
export async function affinityRows({ connection }: ApiWorld): Promise<AffinityText[]> {
  await connection.quiet();
  const { ports } = connection;
  const { hosts } = await ports.cluster().listHosts({ limit: 1000 });
  const rows: AffinityText[] = [];
  for (const { host, kind } of hosts) {
    const own = await ports.host(host).affinities({ host });
    for (const { block: cidr, state } of own.rows) {
      rows.push({ host: host.replace(/^virtual:/, ""), type: kind, cidr, state });
    }
  }
  return rows;
}

async function readAllocation(world: ApiWorld, ip: string) {
  const address = parseAddress(ip);
  if (!address.ok) throw new Error(`${ip}: ${address.error.message}`);
  const blocks: WireBlock[] = await world.all("/v1/blocks?map=true");
  const block = blocks.find(({ cidr }) => containsAddress(rangeOf(cidr), address.value));
  if (block === undefined) return { state: "free", sequence: 0, blockSequence: 0, block: null };
  const mark = block.map[ordinalOf(rangeOf(block.cidr), address.value)] ?? "";
  const answer = await world.send("GET", `/v1/allocations/${encodeURIComponent(ip)}`);
  return {
    state: MARKS[mark],
    sequence: answer.status < 300 ? answer.body.sequenceNumber : 0,
    blockSequence: block.sequenceNumber,
    block: block.cidr,
  };
}
