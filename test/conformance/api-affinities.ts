/**
 * Claims and releases of blocks, and the end of hosts and pools, through the HTTP API.
 * May import: the rest of this folder. Rule: it translates, and decides nothing.
 */
import { refusal } from "./api-allocations.ts";
import type { ApiAnswer, ApiWorld } from "./api-connection.ts";
import * as say from "./translation.ts";
import type { Operations, Outcome } from "./vocabulary.ts";

type Part = Partial<Operations>;

interface WireOutcome {
  readonly block: string;
  readonly outcome: string;
  readonly code?: string;
}

/** Why a single block is not the claimer's: it is another's, or its tenants were left behind. */
const NOT_TO_BE_HAD = new Set(["block_owned_by_other", "block_not_empty"]);

export function affinities(world: ApiWorld): Part {
  return {
    async claimAffinity({ host, cidr, type }) {
      const body = { host: say.ownerName(host, type), cidr };
      const answer = await world.send("POST", "/v1/affinity-claims", body);
      // A single block that was not to be had is a refusal of its own.
      if (NOT_TO_BE_HAD.has(answer.body.code)) return { claimed: [], failed: [cidr] };
      if (answer.status >= 300) return refusal(answer);
      const blocks = await outcomes(world, "/v1/affinity-claims", body, answer);
      const isOwn = ({ outcome }: WireOutcome): boolean => ["claimed", "already_owned"].includes(outcome);
      return {
        claimed: blocks.filter(isOwn).map(({ block }) => block),
        failed: blocks.filter((one) => !isOwn(one)).map(({ block }) => block),
      };
    },
    releaseAffinity: ({ host, cidr, mustBeEmpty = false }) => release(world, { host, cidr, mustBeEmpty }),
    releaseBlockAffinity: ({ cidr, mustBeEmpty = false }) => release(world, { cidr, mustBeEmpty }),
    releaseHostAffinities: ({ host, type, mustBeEmpty = false }) =>
      release(world, { host: say.ownerName(host, type), mustBeEmpty }),
    releasePoolAffinities: ({ cidr }) => release(world, { cidr, mustBeEmpty: false }),
    async ensureBlock({ host, hostReserved4, hostReserved6, pools4, pools6 }) {
      const ends = {
        ...(hostReserved4 === undefined ? {} : { ipv4: hostReserved4 }),
        ...(hostReserved6 === undefined ? {} : { ipv6: hostReserved6 }),
      };
      const families = [...("ipv4" in ends ? [4] : []), ...("ipv6" in ends ? [6] : [])];
      // Nothing is asked of us for a family that has nothing to set aside.
      if (families.length === 0) return { v4: null, v6: null };
      const pools = pools4 ?? pools6;
      const body = { families, hostReserved: ends, ...(pools === undefined ? {} : { pools }) };
      const answer = await world.send("POST", `/v1/hosts/${host}/blocks`, body);
      if (answer.status >= 300) return refusal(answer);
      return { v4: answer.body.ipv4?.cidr ?? null, v6: answer.body.ipv6?.cidr ?? null };
    },
    async removeHost({ host }) {
      await world.must("DELETE", `/v1/hosts/${host}`);
      const isDone = async () => (await world.all(`/v1/blocks?host=${host}`)).length === 0;
      await world.until(`${host} is removed`, isDone);
      return {};
    },
    deletePool: ({ name }) => drain(world, name),
    // No record of a pool goes while there are blocks of it: what it comes to is a drain.
    removePool: ({ name }) => drain(world, name),
  };
}

async function drain(world: ApiWorld, name: string): Promise<Outcome> {
  await world.must("DELETE", `/v1/pools/${name}`);
  // Owners give their blocks back one after another; tenants may keep blocks for long.
  const isDone = async () => {
    const blocks = await world.all("/v1/blocks");
    return blocks.every(({ pool, affinity }) => pool !== name || affinity === undefined);
  };
  await world.until(`nobody owns a block of ${name}`, isDone);
  return {};
}

async function release(world: ApiWorld, body: Readonly<Record<string, unknown>>): Promise<Outcome> {
  const answer = await world.send("POST", "/v1/affinity-releases", body);
  // A block that is another's is left alone, which upstream calls success.
  if (answer.body.code === "block_owned_by_other") return {};
  if (answer.status >= 300) return refusal(answer);
  const blocks = await outcomes(world, "/v1/affinity-releases", body, answer);
  const isInUse = blocks.some(({ code }) => code === "block_not_empty");
  return isInUse ? say.failure("block_not_empty") : {};
}

/** All pages of per-block outcomes, of which the first has been read. */
async function outcomes(
  world: ApiWorld,
  path: string,
  body: object,
  first: ApiAnswer,
): Promise<WireOutcome[]> {
  const found: WireOutcome[] = [...first.body.results];
  let cursor: string | undefined = first.body.nextCursor;
  for (let page = 0; cursor !== undefined && page < 100; page += 1) {
    const more = await world.must("POST", path, { ...body, cursor });
    found.push(...more.results);
    cursor = more.nextCursor;
  }
  return found;
}
