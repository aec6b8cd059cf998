/**
 * Runs cases through the HTTP API of a service. May import: the list of routes, the rest of this folder.
 * Rule: whatever an operator or an agent cannot do is not done here either.
 */
import { OPERATIONS } from "../../src/http/routes.ts";
import { affinities } from "./api-affinities.ts";
import { allocations } from "./api-allocations.ts";
import { ApiWorld, type Connection } from "./api-connection.ts";
import { inspections } from "./api-inspection.ts";
import { owners } from "./api-owners.ts";
import { hooks, policy, setReservations } from "./api-policy.ts";
import {
  type Backend,
  type BackendName,
  type Given,
  GivenRefused,
  NotYet,
  type OperationName,
  type Operations,
  type PoolRecord,
} from "./vocabulary.ts";

/** Makes a back end of whatever opens a fresh deployment. */
export function apiBackend(name: BackendName, open: () => Promise<Connection>): Backend {
  return {
    name,
    operations: new Set(Object.keys(operationsOf(NOWHERE)) as OperationName[]),
    begin: async (given) => {
      // Nothing is opened for a state that cannot be made.
      if (given.state !== undefined) throw new NotYet("raw state");
      const drains = given.pools?.some(({ terminating }) => terminating) === true;
      if (drains && !SERVED.has("drainPool")) throw new NotYet("a pool that drains");
      const connection = await open();
      try {
        const world = new ApiWorld(connection);
        await seed(world, given);
        return { ...operationsOf(world), end: () => connection.end() };
      } catch (error) {
        await connection.end();
        throw error;
      }
    },
  };
}

/** Routes that came, or come, after the first ones: what needs them is there as soon as they are. */
const NEEDS: Partial<Record<OperationName, string>> = {
  setOwnerAttributes: "updateOwners",
  promoteVmOwner: "changeOwner",
  claimAffinity: "claimAffinities",
  releaseAffinity: "releaseAffinities",
  releaseBlockAffinity: "releaseAffinities",
  releaseHostAffinities: "releaseAffinities",
  releasePoolAffinities: "releaseAffinities",
  ensureBlock: "ensureBlocks",
  removeHost: "removeHost",
  deletePool: "drainPool",
};

const SERVED = new Set<string>(OPERATIONS.map(({ id }) => id));

function operationsOf(world: ApiWorld): Partial<Operations> {
  const all: Partial<Operations> = {
    ...allocations(world),
    ...owners(world),
    ...affinities(world),
    ...policy(world),
    ...hooks(world),
    ...inspections(world),
  };
  const served = Object.entries(all).filter(([name]) => {
    const route = NEEDS[name as OperationName];
    return route === undefined || SERVED.has(route);
  });
  return Object.fromEntries(served);
}

/** A pool drains for as long as somebody holds an address of it. */
async function drain(world: ApiWorld, { name, cidr }: PoolRecord): Promise<void> {
  const first = cidr.slice(0, cidr.indexOf("/"));
  const wish = { host: "holder-of-the-case", handle: world.newHandle() };
  await world.must("PUT", `/v1/hosts/${wish.host}`, { labels: {} });
  await world.must("PUT", `/v1/allocations/${encodeURIComponent(first)}`, wish);
  await world.must("DELETE", `/v1/pools/${name}`);
}

/** Only what a world could do is asked of it. */
const NOWHERE = new ApiWorld({
  send: () => Promise.reject(new Error("this world is nowhere")),
  advance: async () => {},
  pass: async () => {},
  end: async () => {},
});

async function seed(world: ApiWorld, given: Given): Promise<void> {
  for (const pool of given.pools ?? []) {
    const answer = await world.putPool(pool);
    if (answer.status >= 300) throw new GivenRefused(`pool ${pool.name}: ${answer.body.code}`);
    if (pool.terminating === true) await drain(world, pool);
  }
  if (given.reservations !== undefined) await setReservations(world, given.reservations);
  if (given.config !== undefined) {
    const answer = await world.send("PATCH", "/v1/config", given.config);
    if (answer.status >= 300) throw new GivenRefused(`configuration: ${answer.body.code}`);
  }
  for (const { name, labels } of given.hosts ?? []) {
    await world.must("PUT", `/v1/hosts/${name}`, { labels });
  }
}
