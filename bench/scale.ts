/**
 * What an allocation takes in pools of 1 to 4,096 blocks, empty and full.
 * May import: the other files here. Each time stands beside one in a small empty pool,
 * taken in turn with it: only these ratios are worth keeping.
 */
import { median } from "./generator/fleet.ts";
import { measureMemory } from "./memory.ts";
import { withService } from "./service.ts";
import { type Column, head, line, Progress } from "./table.ts";
import { inLots, type Target } from "./target.ts";

const SIZES = (process.env.BENCH_BLOCKS ?? "1,64,1024,4096").split(",").map(Number);
const LEVELS = [
  ["empty", 0],
  ["50 %", 0.5],
  ["99 %", 0.99],
] as const;
/** Addresses of a block. */
const PER_BLOCK = 64;
/** Allocations, and claims, that are timed for one line. */
const PROBES = 150;
const CLAIMS = 20;
/** Blocks of a pool that claims are compared with; there is one for each line. */
const COMPARED_BLOCKS = 64;
/** Blocks of one host at most: the built-in cap is 20. */
const BLOCKS_PER_HOST = 14;
const FILLING_CLIENTS = 4;

const COLUMNS: readonly Column[] = [
  { title: "blocks", width: 7, digits: 0 },
  { title: "filled", width: 7 },
  { title: "1 address, ms", width: 14, digits: 2 },
  { title: "ratio", width: 6, digits: 2 },
  { title: "64 and a claim, ms", width: 19, digits: 2 },
  { title: "ratio", width: 6, digits: 2 },
];

/** Prints times and memory, each with a service of its own. */
export async function benchScale(): Promise<boolean> {
  await withService(({ target }) => new Scale(target).run());
  console.log();
  await withService(measureMemory);
  return true;
}

/** A subject's median beside that of the pool of one empty block. Units: milliseconds. */
interface Compared {
  readonly ms: number;
  readonly ratio: number;
}

class Scale {
  readonly #target: Target;
  readonly #hosts: number;
  readonly #progress: Progress;
  #handles = 0;
  #claims = 0;

  constructor(target: Target) {
    this.#target = target;
    const blocks = SIZES.reduce((sum, size) => sum + size, 0) + claimLines().length * CLAIMS;
    this.#hosts = Math.ceil(blocks / BLOCKS_PER_HOST);
    this.#progress = new Progress("filling pools", blocks);
  }

  async run(): Promise<void> {
    await this.#prepare();
    console.log(`Medians of ${PROBES} allocations of one address in a block that is as full as its pool,`);
    console.log(`with the ratio to a pool of one empty block; and of ${CLAIMS} that claim a block and take`);
    console.log(`all of it, with the ratio to a pool of ${COMPARED_BLOCKS} blocks that was empty before.\n`);
    console.log(head(COLUMNS));
    for (const size of SIZES) {
      let claimed = 0;
      for (const [name, share] of LEVELS) {
        let claim: Compared | undefined;
        // Of a pool of one block, the prober has it.
        if (size > 1) {
          claimed = await this.#fillTo(size, claimed, Math.ceil(size * share) - CLAIMS - 1);
          claim = await this.#timeClaims(size, name);
          claimed += CLAIMS;
        }
        await this.#fillProbed(size, share);
        const one = await this.#timeOne(size);
        console.log(line(COLUMNS, [size, name, one.ms, one.ratio, claim?.ms, claim?.ratio]));
      }
    }
  }

  /** All pools before the first allocation: a change of policy waits for those who allocate. */
  async #prepare(): Promise<void> {
    for (const size of [...SIZES, 0]) {
      const bits = Math.log2(Math.max(1, size));
      const cidr = `10.${4 * (size === 0 ? 50 : bits)}.0.0/${26 - bits}`;
      await this.#target.mustSend("PUT", `/v1/pools/${poolOf(size)}`, { cidr, blockSize: 26 });
    }
    for (const [number, { size, level }] of claimLines().entries()) {
      const spec = { cidr: `172.16.${16 * number}.0/20`, blockSize: 26 };
      await this.#target.mustSend("PUT", `/v1/pools/${comparedWith(size, level)}`, spec);
    }
    await this.#target.mustSend("PUT", "/v1/pools/first", { cidr: "10.252.0.0/16", blockSize: 26 });
    const names = Array.from({ length: this.#hosts }, (_, number) => `host-${number}`);
    for (const host of [...names, ...[...SIZES, 0].map(proberOf)]) {
      await this.#target.mustSend("PUT", `/v1/hosts/${host}`, { labels: {} });
      // The first block of a host costs its entry in a directory; that is no matter of the pool's size.
      if (names.includes(host)) await this.#allocate(host, "first", 1);
    }
    for (const size of [...SIZES, 0]) await this.#allocate(proberOf(size), poolOf(size), 1);
  }

  async #allocate(host: string, pool: string, count: number): Promise<{ handle: string; ms: number }> {
    this.#handles += 1;
    const handle = `scale.${this.#handles}`;
    const beganAt = performance.now();
    const body = { host, handle, ipv4: { count, pools: [pool] } };
    await this.#target.mustSend("POST", "/v1/allocations", body, `${handle}.key`);
    return { handle, ms: performance.now() - beganAt };
  }

  async #claim(pool: string): Promise<number> {
    this.#claims += 1;
    this.#progress.show(this.#claims);
    return (await this.#allocate(`host-${this.#claims % this.#hosts}`, pool, PER_BLOCK)).ms;
  }

  async #fillTo(size: number, blocks: number, wanted: number): Promise<number> {
    const missing = Math.max(0, wanted - blocks);
    await inLots(missing, FILLING_CLIENTS, async () => {
      await this.#claim(poolOf(size));
    });
    return blocks + missing;
  }

  /** The prober's own block is as full as the pool, with two addresses left at least. */
  async #fillProbed(size: number, share: number): Promise<void> {
    const { items } = await this.#held(size);
    const wanted = Math.min(PER_BLOCK - 2, Math.floor(PER_BLOCK * share));
    if (wanted > items) await this.#allocate(proberOf(size), poolOf(size), wanted - items);
  }

  async #held(size: number): Promise<{ items: number }> {
    const path = `/v1/allocations?host=${proberOf(size)}&limit=1000`;
    return { items: (await this.#target.ask<{ items: unknown[] }>("GET", path)).items.length };
  }

  async #timeOne(size: number): Promise<Compared> {
    const one = async (of: number): Promise<number> => {
      const { handle, ms } = await this.#allocate(proberOf(of), poolOf(of), 1);
      await this.#target.mustSend("DELETE", `/v1/handles/${handle}`);
      return ms;
    };
    return await inTurn(
      PROBES,
      () => one(size),
      () => one(0),
    );
  }

  async #timeClaims(size: number, level: string): Promise<Compared> {
    return await inTurn(
      CLAIMS,
      () => this.#claim(poolOf(size)),
      () => this.#claim(comparedWith(size, level)),
    );
  }
}

/** The pools of more than one block, at each level: those in which claims are timed. */
function claimLines(): { readonly size: number; readonly level: string }[] {
  const sizes = SIZES.filter((size) => size > 1);
  return sizes.flatMap((size) => LEVELS.map(([level]) => ({ size, level })));
}

function comparedWith(size: number, level: string): string {
  return `claims-${size}-${level.replace(/\W+/g, "")}`;
}

function poolOf(size: number): string {
  return size === 0 ? "compared" : `of-${size}`;
}

function proberOf(size: number): string {
  return size === 0 ? "prober" : `prober-${size}`;
}

async function inTurn(
  times: number,
  subject: () => Promise<number>,
  compared: () => Promise<number>,
): Promise<Compared> {
  const [mine, other]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < times; turn += 1) {
    mine.push(await subject());
    other.push(await compared());
  }
  return { ms: median(mine), ratio: median(mine) / median(other) };
}
