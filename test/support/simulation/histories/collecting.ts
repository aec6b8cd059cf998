/**
 * After the faults of a history whose requests came from pods: agents report, sweeps run, and then all that
 * is leaked is gone, only that, and no host keeps blocks for nothing.
 * May import: the simulation, src/core. Rule: what nobody can judge is not expected to go.
 */
import { kindOf } from "../../../../src/core/leak-subject.ts";
import type { Holding } from "../block-tenancy.ts";
import { snapshot } from "../checker.ts";
import type { Fleet } from "../collector/fleet.ts";
import type { Scene } from "../scene.ts";

interface Collecting {
  readonly scene: Scene;
  readonly fleet: Fleet;
  readonly hosts: readonly string[];
  readonly found: (finding: string) => void;
  readonly look: () => void;
}

/** Rounds of reports, and what lies between two: more than the grace, and than two listings must lie apart. */
const ROUNDS = 6;
const ROUND_MS = 125_000;

/** Reports and sweeps for long enough, then looks at what is left. */
export async function collectAll(collecting: Collecting): Promise<void> {
  const { scene, fleet, hosts, found, look } = collecting;
  const { world } = scene;
  const sweep = scene.deployed.ports.sweep();
  for (const host of hosts) await registered(collecting, host);
  await world.during(sweep.tick({ source: "cron" }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const host of hosts) {
      const told = await world.during(fleet.agents.report(host, "by handle"));
      if (told.join() !== "accepted") found(`liveness: a report of ${host} ends in ${told}`);
      await world.during(fleet.agents.attachments(host));
    }
    await world.advance(ROUND_MS);
    look();
    await acknowledged(scene);
  }
  for (const left of leaksLeft(scene, fleet)) found(left);
  for (const kept of emptyBlocks(scene, hosts)) found(kept);
}

async function registered({ scene, fleet, found }: Collecting, host: string): Promise<void> {
  const told = await scene.world.during(fleet.agents.register(host));
  if (told.join() !== "done") found(`liveness: ${host} cannot register: ${told}`);
}

/** In so small a deployment all of a host may be leaked at once: an operator lets it go. */
async function acknowledged(scene: Scene): Promise<void> {
  const sweep = scene.deployed.ports.sweep();
  const { breaker } = await scene.world.during(sweep.getGc({}));
  if (breaker.openedAt === undefined) return;
  await scene.world.during(sweep.acknowledge({ breakerOpenedAt: breaker.openedAt, by: "test" }));
}

/** Leaked is a handle whose pods have all ended, and of which all can be judged. */
function leaksLeft(scene: Scene, { pods }: Fleet): string[] {
  const held = snapshot(scene).blocks.flatMap((block) => block.held);
  const isLeaked = (one: Holding) =>
    kindOf(one) === "workload" && one.usedOn === undefined && !pods.isAlive(one.host, one.handle);
  return [...Map.groupBy(held, ({ handle }) => handle)]
    .filter(([, members]) => members.every(isLeaked))
    .flatMap(([handle, members]) =>
      members.map(({ address, host }) => `liveness: ${address} of ${handle} on ${host} is leaked and stays`),
    );
}

/** One block per host and family stays, however empty. */
function emptyBlocks(scene: Scene, hosts: readonly string[]): string[] {
  const { blocks, affinities } = snapshot(scene);
  // A claim without an answer is settled when the host needs a block again, or by a check.
  const rows = affinities.filter(({ state }) => state === "confirmed");
  const confirmed = new Set(rows.map(({ host, block }) => `${host} ${block}`));
  return hosts.flatMap((host) => {
    const owned = blocks.filter(({ owner, block }) => owner === host && confirmed.has(`${host} ${block}`));
    return [4, 6].flatMap((family) => {
      const ofFamily = owned.filter(({ block }) => block.includes(":") === (family === 6));
      const empty = ofFamily.filter(({ held }) => held.length === 0);
      if (empty.length === 0 || ofFamily.length === 1) return [];
      return [`liveness: ${host} keeps ${empty.map(({ block }) => block).join(" ")} though it has others`];
    });
  });
}
