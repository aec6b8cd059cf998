/**
 * Configuration, pools, reservations, hosts and figures through the HTTP API, in the words of the cases.
 * May import: the rest of this folder. Rule: it translates, and decides nothing.
 */
import { refusal } from "./api-allocations.ts";
import type { ApiAnswer, ApiWorld } from "./api-connection.ts";
import type { Operations, Outcome, ReservationRecord } from "./vocabulary.ts";

type Part = Partial<Operations>;

export function policy(world: ApiWorld): Part {
  return {
    getConfig: async () => await world.must("GET", "/v1/config"),
    async setConfig(patch) {
      const answer = await world.send("PATCH", "/v1/config", patch);
      return answer.status < 300 ? {} : refusal(answer);
    },
    // Nothing was ever written as long as the revision is 0.
    configStored: async () => ({ stored: (await world.must("GET", "/v1/config")).revision > 0 }),
    async createPool(text) {
      const answer = await world.putPool(text);
      return answer.status < 300 ? { pool: answer.body } : invalidPool(answer);
    },
    async updatePool(text) {
      const answer = await world.putPool(text);
      return answer.status < 300 ? {} : invalidPool(answer);
    },
    utilization: async ({ pools }) => ({ pools: await figures(world, pools) }),
    async countReserved({ cidr }) {
      const name = `counted-${world.next()}`;
      const made = await world.putPool({ name, cidr, blockSize: 32, disabled: true });
      if (made.status >= 300) return invalidPool(made);
      return { reserved: Number(made.body.usage.reserved) };
    },
    selector: ({ expression, labels }) => selectorOutcome(world, expression, labels),
  };
}

function invalidPool({ body }: ApiAnswer): Outcome {
  const isAboutThePool = ["invalid_request", "pool_overlap", "pool_field_immutable"].includes(body.code);
  return { error: { kind: isAboutThePool ? "validation" : body.code } };
}

/** A selector is asked by what it does: a pool that selects a host gives it an address. */
async function selectorOutcome(
  world: ApiWorld,
  expression: string,
  labels: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const number = world.next();
  const host = `selected-${number}`;
  const name = `selecting-${number}`;
  const cidr = `10.${number >> 8}.${number & 255}.0/26`;
  const made = await world.putPool({ name, cidr, nodeSelector: expression });
  if (made.status >= 300) {
    const isSelector = made.body.errors?.some(
      ({ pointer }: { pointer: string }) => pointer === "/nodeSelector",
    );
    return { error: { kind: isSelector === true ? "selectorSyntax" : made.body.code } };
  }
  await world.must("PUT", `/v1/hosts/${host}`, { labels });
  const asked = { host, handle: world.newHandle(), ipv4: { count: 1 } };
  const answer = await world.send("POST", "/v1/allocations", asked);
  // The next selector is not to be answered by this pool.
  await world.must("PATCH", `/v1/pools/${name}`, { disabled: true });
  if (answer.status < 300) return { match: true };
  const isNoMatch = answer.body.code === "no_pool_selects_host";
  return isNoMatch ? { match: false } : refusal(answer);
}

interface WireBlock {
  readonly cidr: string;
  readonly pool: string;
  readonly capacity: number;
  readonly allocated: number;
  readonly cooling: number;
  readonly hostReserved?: number;
  readonly reserved: number;
  readonly available: number;
}

async function figures(world: ApiWorld, wanted: readonly string[] | undefined) {
  const usages = (await world.all("/v1/utilization?exact=true")).filter(
    ({ pool, cidr }) => wanted === undefined || wanted.includes(pool) || wanted.includes(cidr),
  );
  const blocks: WireBlock[] = await world.all("/v1/blocks");
  return usages.map(({ pool: name, cidr, ...usage }) => {
    const own = blocks.filter(({ pool }) => pool === name);
    const setAside = own.reduce((sum, { hostReserved = 0 }) => sum + hostReserved, 0);
    return {
      name,
      cidr,
      capacity: Number(usage.capacity),
      inUse: Number(usage.allocated) + Number(usage.cooling) + setAside,
      reserved: Number(usage.reserved),
      available: Number(usage.available),
      blocks: own.map((block) => ({
        cidr: block.cidr,
        capacity: block.capacity,
        inUse: block.allocated + block.cooling + (block.hostReserved ?? 0),
        reserved: block.reserved,
        available: block.available,
      })),
    };
  });
}

export function hooks(world: ApiWorld): Part {
  return {
    async applyPool(text) {
      const answer = await world.putPool(text);
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
      return {};
    },
    async applyHost({ name, labels }) {
      await world.must("PUT", `/v1/hosts/${name}`, { labels });
      return {};
    },
    async setReservations({ reservations }) {
      await setReservations(world, reservations);
      return {};
    },
    async advanceTime({ seconds }) {
      await world.connection.advance(seconds);
      return {};
    },
    // Free is derived from time: there is never anything to collect.
    gcColdIps: async () => ({ wrote: false }),
  };
}

/** Makes the reservations that are wanted and deletes all others. */
export async function setReservations(world: ApiWorld, wanted: readonly ReservationRecord[]): Promise<void> {
  for (const { name } of await world.all("/v1/reservations")) {
    if (wanted.some((one) => one.name === name)) continue;
    await world.must("DELETE", `/v1/reservations/${name}`);
  }
  for (const { name, reservedCIDRs } of wanted) {
    await world.must("PUT", `/v1/reservations/${name}`, { reservedCIDRs });
  }
}
