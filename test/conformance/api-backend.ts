/**
 * Runs cases through the HTTP API of a service. May import: the list of routes, the rest of this folder.
 * Rule: whatever an operator or an agent cannot do is not done here either.
 */
import { OPERATIONS } from "../../src/http/routes.ts";
import type { Ports } from "../../src/rpc/ports.ts";
import { affinities } from "./api-affinities.ts";
import { allocations } from "./api-allocations.ts";
import { ApiWorld, type Connection } from "./api-connection.ts";
import { inspections } from "./api-inspection.ts";
import { owners } from "./api-owners.ts";
import { hooks, policy } from "./api-policy.ts";
import { review, seed } from "./api-seed.ts";
import type { Backend, BackendName, OperationName, Operations } from "./vocabulary.ts";

/** Makes a back end of whatever opens a fresh deployment. */
export function apiBackend(name: BackendName, open: () => Promise<Connection>): Backend {
  return {
    name,
    operations: new Set(Object.keys(operationsOf(NOWHERE)) as OperationName[]),
    begin: async (given) => {
      // Nothing is opened for a state that cannot be made.
      review(given, (route) => SERVED.has(route));
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

const nowhere = () => Promise.reject(new Error("this world is nowhere"));
/** Only what a world could do is asked of it. */
const NOWHERE = new ApiWorld({
  send: nowhere,
  advance: nowhere,
  pass: nowhere,
  losing: nowhere,
  quiet: nowhere,
  ports: {} as Ports,
  now: () => 0,
  end: nowhere,
});
