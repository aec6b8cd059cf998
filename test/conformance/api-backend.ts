/**
 * Runs cases through the HTTP API of a service. May import: the rest of this folder.
 * Rule: whatever an operator or an agent cannot do is not done here either.
 */
import { allocations } from "./api-allocations.ts";
import { ApiWorld, type Connection } from "./api-connection.ts";
import { inspections } from "./api-inspection.ts";
import { hooks, policy, setReservations } from "./api-policy.ts";
import {
  type Backend,
  type BackendName,
  type Given,
  GivenRefused,
  NotYet,
  type OperationName,
  type Operations,
} from "./vocabulary.ts";

/** Makes a back end of whatever opens a fresh deployment. */
export function apiBackend(name: BackendName, open: () => Promise<Connection>): Backend {
  return {
    name,
    operations: new Set(Object.keys(operationsOf(NOWHERE)) as OperationName[]),
    begin: async (given) => {
      // Nothing is opened for a state that cannot be made.
      if (given.state !== undefined) throw new NotYet("raw state");
      if (given.pools?.some(({ terminating }) => terminating)) throw new NotYet("a pool that drains");
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

function operationsOf(world: ApiWorld): Partial<Operations> {
  return { ...allocations(world), ...policy(world), ...hooks(world), ...inspections(world) };
}

/** Only what a world could do is asked of it. */
const NOWHERE = new ApiWorld({
  send: () => Promise.reject(new Error("this world is nowhere")),
  advance: async () => {},
  end: async () => {},
});

async function seed(world: ApiWorld, given: Given): Promise<void> {
  for (const pool of given.pools ?? []) {
    const answer = await world.putPool(pool);
    if (answer.status >= 300) throw new GivenRefused(`pool ${pool.name}: ${answer.body.code}`);
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
