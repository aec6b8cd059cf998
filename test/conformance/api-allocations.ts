/**
 * Allocations, releases and their reading through the HTTP API, in the words of the cases.
 * May import: the rest of this folder. Rule: it translates, and decides nothing.
 */
import { type ApiAnswer, type ApiWorld, caseHandle } from "./api-connection.ts";
import * as say from "./translation.ts";
import type { Arguments, Assigned, Operations, Outcome } from "./vocabulary.ts";

/** Addresses that one request may ask for (contract: count). */
const PER_REQUEST = 256;

type Part = Partial<Operations>;
type Addresses = Assigned["addresses"];

export function allocations(world: ApiWorld): Part {
  return {
    autoAssign: (args) => autoAssign(world, args),
    async assignIp({ host, ip, handle, attrs, use, maxAllocPerHandlePerVersion }) {
      const answer = await world.request("PUT", `/v1/allocations/${encodeURIComponent(ip)}`, {
        host: say.hostFor(host, use),
        handle: handle ?? world.newHandle(),
        ...(use === undefined ? {} : { use }),
        ...(attrs === undefined ? {} : { attributes: attrs }),
        ...(maxAllocPerHandlePerVersion === undefined ? {} : { maxPerHandle: maxAllocPerHandlePerVersion }),
      });
      return answer.status < 300 ? {} : refusal(answer);
    },
    async releaseIps({ releases }) {
      const isUnguarded = releases.some(
        ({ handle, sequence }) => handle === undefined && sequence === undefined,
      );
      const answer = await world.send("POST", "/v1/releases", {
        addresses: releases.map(({ ip, handle, sequence }) => ({
          address: ip,
          ...(handle === undefined ? {} : { handle }),
          ...(sequence === undefined ? {} : { sequenceNumber: sequence }),
        })),
        ...(isUnguarded ? { force: true } : {}),
      });
      if (answer.status >= 300) return { ...refusal(answer), released: [], unallocated: [] };
      return say.releaseOutcome(answer.body.results);
    },
    async releaseByHandle({ handle }) {
      const answer = await world.send("DELETE", `/v1/handles/${encodeURIComponent(handle)}`);
      if (answer.status >= 300) return refusal(answer);
      return answer.body.results.length === 0 ? say.failure("handle_not_allocated") : {};
    },
    async ipsByHandle({ handle }) {
      const answer = await world.send("GET", `/v1/handles/${encodeURIComponent(handle)}`);
      if (answer.status >= 300) return refusal(answer);
      const ips = answer.body.items.map(({ address }: { address: string }) => address);
      return ips.length === 0 ? say.failure("handle_not_allocated") : { ips: ips.toSorted(say.byText) };
    },
    async getAttributes({ ip }) {
      const answer = await world.send("GET", `/v1/allocations/${encodeURIComponent(ip)}`);
      const { body } = answer;
      if (answer.status < 300) {
        return {
          handle: caseHandle(body.handle),
          activeOwner: say.ownerText(body.attributes),
          alternateOwner: say.ownerText(body.alternateAttributes),
        };
      }
      return body.evidence?.state === "cooling" ? { error: { kind: "inCooldown" } } : refusal(answer);
    },
  };
}

/** The outcome of a refusal that tells of no families. */
export function refusal({ body }: ApiAnswer): Outcome {
  return say.failure(body.code, body.errors?.[0]?.pointer);
}

/** Asks in portions that the API takes, until all is there or a portion comes back short. */
async function autoAssign(world: ApiWorld, args: Arguments["autoAssign"]): Promise<Outcome> {
  const requested = { 4: args.num4 ?? 0, 6: args.num6 ?? 0 };
  const got: Record<4 | 6, Addresses> = { 4: [], 6: [] };
  const handle = args.handle ?? world.newHandle();
  let shortfall: say.ShortText[] = [];
  for (let portion = 0; ; portion += 1) {
    const counts = {
      4: Math.min(PER_REQUEST, requested[4] - got[4].length),
      6: Math.min(PER_REQUEST, requested[6] - got[6].length),
    };
    if (portion > 0 && counts[4] + counts[6] === 0) break;
    const answer = await world.request("POST", "/v1/allocations", bodyOf(args, handle, counts));
    const { body } = answer;
    if (answer.status < 300) {
      for (const family of [4, 6] as const) got[family] = [...got[family], ...addressesOf(body, family)];
      shortfall = body.shortfall.map((short: WireShortfall) => shortText(world, short));
    } else if (body.evidence?.shortfall !== undefined) {
      shortfall = body.evidence.shortfall.map((short: WireShortfall) => ({
        ...shortText(world, short),
        ...(body.evidence.pool === undefined ? {} : { pool: body.evidence.pool }),
      }));
    } else {
      return { ...refusal(answer), v4: null, v6: null };
    }
    if (shortfall.length > 0) break;
  }
  return say.assignment(requested, got, shortfall);
}

function bodyOf(args: Arguments["autoAssign"], handle: string, counts: Readonly<Record<4 | 6, number>>) {
  const { use, attrs: attributes, namespaceLabels: labels, maxBlocksPerHost } = args;
  const { maxAllocPerHandlePerVersion: maxPerHandle, hostReserved4, hostReserved6 } = args;
  const isNamed = { 4: args.num4 !== undefined || args.pools4, 6: args.num6 !== undefined || args.pools6 };
  const ends = {
    ...(hostReserved4 === undefined ? {} : { ipv4: hostReserved4 }),
    ...(hostReserved6 === undefined ? {} : { ipv6: hostReserved6 }),
  };
  const optional = { use, attributes, maxBlocksPerHost, maxPerHandle };
  return {
    host: say.hostFor(args.host, use),
    handle,
    ...(isNamed[4] ? { ipv4: { count: counts[4], ...(args.pools4 && { pools: args.pools4 }) } } : {}),
    ...(isNamed[6] ? { ipv6: { count: counts[6], ...(args.pools6 && { pools: args.pools6 }) } } : {}),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    ...(labels === undefined ? {} : { namespace: { name: "of-the-case", labels } }),
    ...(Object.keys(ends).length === 0 ? {} : { hostReserved: ends }),
    partial: args.partial ?? true,
  };
}

interface WireAllocation {
  readonly address: string;
  readonly interfaceAddress: string;
  readonly family: number;
}

function addressesOf(body: { readonly allocations: readonly WireAllocation[] }, family: 4 | 6): Addresses {
  return body.allocations
    .filter((one) => one.family === family)
    .map(({ address, interfaceAddress }) => ({
      ip: address,
      prefixLength: Number(interfaceAddress.split("/")[1]),
    }));
}

interface WireShortfall {
  readonly family: 4 | 6;
  readonly requested: number;
  readonly code: string;
  readonly considered: readonly {
    readonly kind: string;
    readonly outcome: string;
    readonly rule: string;
    readonly pool?: string;
    readonly detail?: string;
  }[];
}

function shortText(world: ApiWorld, { family, requested, code, considered }: WireShortfall): say.ShortText {
  const searched = considered
    .filter(({ kind, outcome }) => kind === "pool" && outcome !== "skipped")
    .map(({ pool = "" }) => world.pools.get(pool) ?? pool);
  const cap = considered.find(({ rule }) => rule === "cap_reached")?.detail?.match(/at most ([0-9]+)/)?.[1];
  return { family, requested, code, searched, ...(cap === undefined ? {} : { limit: Number(cap) }) };
}
