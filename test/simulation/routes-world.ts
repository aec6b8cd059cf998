/**
 * A deployment with hosts, whose routes are read as a client reads them, beside what the rows say.
 * May import: the simulation, src. Used by the tests of routes only.
 */
import type { Route } from "../../src/core/routes.ts";
import type { PoolTarget } from "../../src/rpc/pool.ts";
import { blockObject } from "../support/simulation/deployment.ts";
import { Scene, type SceneOptions } from "../support/simulation/scene.ts";

export const TARGET: PoolTarget = {
  pool: "default",
  incarnation: 0,
  cidr: "10.0.0.0/24",
  blockSize: 26,
};
export const POOL = "pool:v1:default:default:0";

/** Long enough for what was lost to be told again. */
export const REPEATED_MS = 20_000;

export async function routesWorld(options: SceneOptions = {}, target: PoolTarget = TARGET) {
  const { cidr, blockSize } = target;
  const scene = await Scene.open({ pools: { default: { cidr, blockSize } }, ...options });
  const { world, deployed } = scene;
  const { ports } = deployed;
  const pool = () => ports.pool(target.pool, target.incarnation);
  const page = (more: { after?: string; limit?: number; host?: string } = {}) =>
    world.during(pool().routes({ ...target, limit: 1000, ...more }));
  const take = async (host: string, handle: string, v4 = 1) => {
    const ended = await world.during(scene.allocate(host, { handle, v4 }));
    if (ended.kind !== "ok") throw new Error(`${handle}: ${JSON.stringify(ended)}`);
    return ended.addresses;
  };
  return {
    scene,
    world,
    ports,
    target,
    pool,
    page,
    take,
    /** Routes as text, e.g. `10.0.0.0/26 a`. */
    async routes(): Promise<string[]> {
      return (await page()).routes.map(textOf);
    },
    revision: async () => (await page()).revision,
    /** Calls so far, e.g. of `HostObject>PoolObject.report`. */
    calls: (route: string) => world.counters.read().calls[route] ?? 0,
    release: (handle: string) => world.during(scene.release(handle)),
    /** Gives a block back, as a drain does: under a fresh epoch of the Pool. */
    async giveBack(host: string, block: string, mustBeEmpty = true) {
      const fresh = await world.during(pool().fresh({ ...target, owner: host, block }));
      if (fresh.kind !== "claim") throw new Error(`${block} is of ${fresh.owner}`);
      const { epoch } = fresh;
      const request = { host, block, pool: target.pool, incarnation: target.incarnation, epoch };
      return world.during(ports.host(host).releaseBlock({ ...request, mustBeEmpty, forReclaim: false }));
    },
    alarmOf: (block: string) => world.alarmOf(blockObject(block)),
    /** What must be routed when all is told: confirmed rows, and what blocks lend. */
    truth: () => truthOf(scene).toSorted(),
  };
}

export function textOf({ destination, host }: Pick<Route, "destination" | "host">): string {
  return `${destination} ${host}`;
}

interface Header {
  readonly block: string;
  readonly owner?: string;
}

function truthOf({ world }: Scene): string[] {
  const named = (kind: string) =>
    world.objectNames.filter(
      (name) =>
        name.startsWith(`${kind}:`) &&
        world.rows(name, "SELECT name FROM sqlite_master WHERE name = 'schema_version'").length > 0,
    );
  const owned = named("host").flatMap((name) =>
    world
      .rows(name, "SELECT block FROM affinities WHERE state = 'confirmed'")
      .map(({ block }) => `${block} ${name.split(":")[3]}`),
  );
  const lent = named("block").flatMap((name) => {
    const row = world.rows(name, "SELECT header FROM block")[0];
    if (row === undefined) return [];
    const { block, owner } = JSON.parse(String(row.header)) as Header;
    const base = block.slice(0, block.indexOf("/")).split(".").map(Number);
    const rows = world.rows(name, "SELECT ordinal, current FROM ordinals WHERE current IS NOT NULL");
    return rows.flatMap(({ ordinal, current }) => {
      const { host } = JSON.parse(String(current)) as { host: string };
      const address = [...base.slice(0, 3), (base[3] ?? 0) + Number(ordinal)].join(".");
      return host === owner ? [] : [`${address}/32 ${host}`];
    });
  });
  return [...owned, ...lent];
}
