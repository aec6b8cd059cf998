/**
 * The same operations where there is more: many live allocations, cooling ones, sweeps, full and large pools.
 * May import: the subject's type. Rule: each scene is a service of its own, beside the main one.
 */
import { inLots, pause } from "../target.ts";
import {
  allocate,
  enrol,
  firstFill,
  PER_BLOCK,
  pair,
  register,
  type Scene,
  type Stage,
  type Subject,
} from "./subject.ts";

const LIVE = Number(process.env.BENCH_LIVE ?? 20_000);
const LIVE_HOSTS = 200;
const BUSY_HOSTS = 50;
const CLIENTS = 4;
const COOLDOWN_SECONDS = 60;
const SWEEP_POLL_MS = 250;
const SWEEP_POLLS_MAX = 1_200;
const LARGE = Number(process.env.BENCH_BLOCKS ?? 4_096);
/** Addresses that are left in the prober's block at least: else each allocation turns it full, and its release back. */
const LEFT = 2;
const UNCAPPED = { strictAffinity: true, maxBlocksPerHost: 1_000_000 };

export const HELD_SCENE: Scene = {
  async prepare(stage) {
    const { target } = stage.service;
    await target.mustSend("PUT", "/v1/pools/bench", { cidr: "10.64.0.0/10", blockSize: 26 });
    await target.mustSend("PATCH", "/v1/config", UNCAPPED);
    const show = stage.progress(`${LIVE.toLocaleString("en")} live allocations`, LIVE_HOSTS);
    const one = async (host: number): Promise<void> => {
      await enrol(stage, `held-${host}`, firstFill(host));
      const items = Array.from({ length: Math.floor(LIVE / LIVE_HOSTS) }, (_, pod) => {
        const handle = `held.${host}.${pod}`;
        return { key: `${handle}.key`, handle, ipv4: { count: 1 }, attributes: { pod: handle } };
      });
      await target.mustBatch(`held-${host}`, items);
    };
    await inLots(LIVE_HOSTS, CLIENTS, one, show);
  },
};

export const COOLING_SCENE: Scene = {
  async prepare({ service: { target } }) {
    await target.mustSend("PUT", "/v1/pools/bench", { cidr: "10.64.0.0/10", blockSize: 26 });
    await target.mustSend("PATCH", "/v1/config", { ...UNCAPPED, ipCooldownSeconds: COOLDOWN_SECONDS });
  },
};

/** Sweeps that follow each other without a pause, until they are told to end. */
function sweeps({ service: { target } }: Stage): () => Promise<void> {
  interface Gc {
    readonly state: string;
    readonly sweep: number;
    readonly backlogHosts: number;
  }
  let isOver = false;
  const one = async (): Promise<void> => {
    const { sweep } = await target.ask<Gc>("POST", "/v1/gc/sweeps");
    for (let poll = 0; poll < SWEEP_POLLS_MAX; poll += 1) {
      const gc = await target.ask<Gc>("GET", "/v1/gc");
      if (gc.sweep >= sweep && gc.state !== "running" && gc.backlogHosts === 0) return;
      await pause(SWEEP_POLL_MS);
    }
    throw new Error("the sweep does not end");
  };
  const sweeping = (async () => {
    while (!isOver) await one();
  })();
  sweeping.catch(() => undefined);
  return () => {
    isOver = true;
    return sweeping;
  };
}

const onBusy = (id: string, name: string): Subject => ({
  id,
  name,
  scene: "held",
  clients: [1, 64],
  plan: (clients) => ({ ...allocate(id, "held-{h}", clients), hosts: BUSY_HOSTS }),
});

interface Size {
  readonly blocks: number;
  readonly percent: number;
}

const SIZES: readonly Size[] = [1, LARGE].flatMap((blocks) =>
  [0, 50, 99].map((percent) => ({ blocks, percent })),
);

const poolOf = ({ blocks, percent }: Size): string => `of-${blocks === 1 ? 1 : "many"}-${percent}`;

export const SIZES_SCENE: Scene = {
  async prepare({ service: { target } }) {
    for (const [number, size] of SIZES.entries()) {
      const bits = Math.ceil(Math.log2(size.blocks));
      const cidr = size.blocks === 1 ? `10.0.${number}.0/26` : `10.${64 + 4 * number}.0.0/${26 - bits}`;
      await target.mustSend("PUT", `/v1/pools/${poolOf(size)}`, { cidr, blockSize: 26 });
    }
    await target.mustSend("PATCH", "/v1/config", UNCAPPED);
  },
};

/**
 * The prober's block is as full as the pool; of the others, so many are full.
 *
 * Why few hosts: each has a block claimed ahead by the end, and at 99 % few are left.
 */
async function fill(stage: Stage, size: Size): Promise<void> {
  const pool = poolOf(size);
  const take = (host: string, handle: string, count: number) => {
    const body = { host, handle, ipv4: { count, pools: [pool] } };
    return stage.service.target.mustSend("POST", "/v1/allocations", body, `${handle}.key`);
  };
  await register(stage, `probe-${pool}`);
  const own = Math.floor((PER_BLOCK * size.percent) / 100);
  await take(`probe-${pool}`, `fill.${pool}`, Math.min(Math.max(1, own), PER_BLOCK - LEFT));
  const blocks = Math.max(0, Math.ceil((size.blocks * size.percent) / 100) - 1);
  const hosts = Math.min(CLIENTS, Math.max(1, Math.floor(size.blocks / 100)));
  const show = stage.progress(`filling ${blocks.toLocaleString("en")} blocks`, blocks);
  let filled = 0;
  await inLots(hosts, hosts, async (host) => {
    await register(stage, `${pool}-${host}`);
    for (let block = host; block < blocks; block += hosts) {
      await take(`${pool}-${host}`, `fill.${pool}.${block}`, PER_BLOCK);
      filled += 1;
      show(filled);
    }
  });
}

const probe = (size: Size): Subject => ({
  id: `size-${size.blocks === 1 ? 1 : "many"}-${size.percent}`,
  name: `${size.blocks.toLocaleString("en")} block${size.blocks === 1 ? "" : "s"}, ${size.percent} % full`,
  scene: "sizes",
  clients: [1],
  plan: (clients) => {
    const more = { ipv4: { count: 1, pools: [poolOf(size)] } };
    return { ...pair(poolOf(size), `probe-${poolOf(size)}`, clients, more), timed: 1 };
  },
  prepare: (stage) => fill(stage, size),
});

export const OTHER_SUBJECTS: readonly Subject[] = [
  {
    id: "held-1",
    name: `1 host, ${LIVE.toLocaleString("en")} live`,
    scene: "held",
    clients: [1, 64],
    plan: (clients) => allocate("held-1", "held-one", clients),
    prepare: (stage) => enrol(stage, "held-one", 1),
  },
  onBusy("held-50", `${BUSY_HOSTS} hosts, ${LIVE.toLocaleString("en")} live`),
  { ...onBusy("sweep-50", "…, sweep after sweep"), during: sweeps },
  {
    id: "cooling",
    name: "pairs, cooldown 60 s",
    scene: "cooling",
    clients: [1, 64],
    plan: (clients) => pair("cooling", "cooling", clients),
    prepare: (stage) => enrol(stage, "cooling", 1),
  },
  ...SIZES.map(probe),
];
