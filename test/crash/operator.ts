/**
 * Operators at work while clients allocate and the service is killed: configuration, reservations,
 * hosts, the drained pool, blocks. May import: the recorder. Rule: each thing has one writer.
 */
import type { Ports } from "../../src/rpc/ports.ts";
import { pause, type Recorder } from "../http/load/recorder.ts";
import type { PolicyWrite, Rule } from "../support/history-policy.ts";
import { type Ground, isWithin, MOVING, movingPool } from "./ground.ts";
import type { CrashLoad } from "./load.ts";

/** How often a write is sent again that has no known outcome. */
const TRIES = 200;
const AGAIN_MS = 100;
/** How long a drained pool may take from being empty until it is gone, kills included. */
const GONE_WITHIN_MS = 60_000;

const COOLDOWNS = { short: 1_000, long: 2_000 };

interface Written {
  readonly outcome: string;
  readonly code?: string;
}

export class Operators {
  readonly #recorder: Recorder;
  readonly #ground: Ground;
  readonly #load: CrashLoad;
  readonly #random: () => number;
  readonly #strict: PolicyWrite<boolean>[] = [];
  readonly #reserved: PolicyWrite<string>[] = [];
  readonly #moving: PolicyWrite<"open" | "closed">[] = [];
  readonly cooldowns: PolicyWrite<number>[] = [];
  /** What an operator saw that may not be. */
  readonly faults: string[] = [];
  readonly initialCooldownMs = COOLDOWNS.short;
  readonly shortenedMs = COOLDOWNS.long - COOLDOWNS.short;

  constructor(recorder: Recorder, ground: Ground, load: CrashLoad, random: () => number) {
    this.#recorder = recorder;
    this.#ground = ground;
    this.#load = load;
    this.#random = random;
  }

  /** All of them, until it is over; pools and hosts are whole again then. */
  async run(isOver: () => boolean): Promise<void> {
    const rounds = [
      () => this.#changeConfig(),
      () => this.#reserve(),
      () => this.#removeHost(),
      () => this.#moveBlock(),
      () => this.#drain(),
      () => this.#readRoutes(),
      () => this.#endObjects(),
    ];
    await Promise.all(
      rounds.map(async (round) => {
        while (!isOver()) {
          await round();
          await pause(200 + this.#random() * 1_500);
        }
      }),
    );
  }

  /** What allocations may not get while a write is in force. */
  get rules(): readonly Rule[] {
    const strict: Rule<boolean> = {
      invariant: "I8",
      name: "strict affinity",
      writes: this.#strict,
      // A later attempt may be told what an earlier one got, and the block may have changed hands since.
      onlyFirst: true,
      isBroken: (value, { borrowed = [] }, address) => value && borrowed.includes(address),
    };
    const reserved: Rule<string> = {
      invariant: "I7",
      name: "a reservation",
      writes: this.#reserved,
      isBroken: (value, { isExact = false }, address) =>
        value !== "" && !isExact && isWithin(address, value.split(",")),
    };
    const moving: Rule<string> = {
      invariant: "I7",
      name: "a drain",
      writes: this.#moving,
      isBroken: (value, _, address) => value === "closed" && isWithin(address, [MOVING.cidr]),
    };
    return [strict, reserved, moving] as readonly Rule[];
  }

  async #changeConfig(): Promise<void> {
    const isStrict = this.#random() < 0.5;
    const cooldownMs = this.#random() < 0.5 ? COOLDOWNS.short : COOLDOWNS.long;
    const patch = { strictAffinity: isStrict, ipCooldownSeconds: cooldownMs / 1_000 };
    await this.#surely("config", "PATCH", "/v1/config", patch, (write) => {
      this.#strict.push({ ...write, value: isStrict });
      this.cooldowns.push({ ...write, value: cooldownMs });
    });
  }

  /** A quarter of some blocks, and later no more. */
  async #reserve(): Promise<void> {
    const { blocks, addressAt } = this.#ground;
    const first = Math.floor(this.#random() * blocks);
    const some = Array.from({ length: 4 }, (_, step) => (first + step * 3) % blocks);
    const value = some.map((block) => `${addressAt(block * 16 + 4)}/30`).join();
    const path = "/v1/reservations/some";
    const note = (kept: string) => (write: PolicyWrite) => this.#reserved.push({ ...write, value: kept });
    await this.#surely("reservation", "PUT", path, { reservedCIDRs: value.split(",") }, note(value));
    await pause(500 + this.#random() * 1_500);
    if (this.#random() < 0.5) await this.#surely("reservation", "DELETE", path, undefined, note(""));
  }

  async #removeHost(): Promise<void> {
    const { movable } = this.#ground;
    const host = movable[Math.floor(this.#random() * movable.length)] ?? "";
    await this.#surely("host removed", "DELETE", `/v1/hosts/${host}`);
    await pause(this.#random() * 1_000);
    const incarnation = `${host}.${Math.floor(this.#random() * 2 ** 30)}`;
    await this.#surely("host back", "PUT", `/v1/hosts/${host}`, { labels: {}, incarnation });
  }

  /** Takes an empty block from its host, or gives a host a certain block. */
  async #moveBlock(): Promise<void> {
    const { blocks, blockAt, hosts, capped } = this.#ground;
    const cidr = blockAt(Math.floor(this.#random() * blocks));
    const free = hosts.filter((name) => !capped.has(name));
    const host = free[Math.floor(this.#random() * free.length)] ?? "";
    const claim = this.#random() < 0.3;
    await this.#recorder.write(
      claim ? "block claimed" : "block released",
      "POST",
      claim ? "/v1/affinity-claims" : "/v1/affinity-releases",
      claim ? { host, cidr } : { cidr, mustBeEmpty: true },
    );
  }

  /** Drains the pool, waits until it is gone, makes it again with other blocks. */
  async #drain(): Promise<void> {
    const path = `/v1/pools/${MOVING.name}`;
    const note = (value: "open" | "closed") => (write: PolicyWrite) => this.#moving.push({ ...write, value });
    await pause(1_000);
    this.#load.isMovingOpen = false;
    await this.#surely("drain", "DELETE", path, undefined, note("closed"));
    let heldAt = performance.now();
    for (let code = ""; code !== "pool_not_found"; ) {
      // Also what clients did not know of, or have given up, is in the way.
      await this.#load.vacate((address) => isWithin(address, [MOVING.cidr]));
      if (await this.#releaseHolders()) heldAt = performance.now();
      code = (await this.#recorder.write("pool read", "GET", path)).code ?? "";
      if (performance.now() - heldAt > GONE_WITHIN_MS) {
        this.faults.push(`a drained pool that is empty was not gone after ${GONE_WITHIN_MS} ms`);
        return;
      }
      await pause(AGAIN_MS);
    }
    const spec = movingPool(this.#moving.length);
    await this.#surely("pool made", "PUT", path, spec, note("open"));
    this.#load.isMovingOpen = true;
  }

  /** Releases what is listed; whether anything may still be held. */
  async #releaseHolders(): Promise<boolean> {
    const path = `/v1/allocations?pool=${MOVING.name}&limit=1000`;
    const { body, outcome } = await this.#recorder.write("holders", "GET", path);
    const items = (body.items ?? []) as { handle?: string }[];
    const handles = new Set(items.flatMap(({ handle }) => handle ?? []));
    await Promise.all([...handles].map((handle) => this.#recorder.release({ handle })));
    return outcome !== "ok" || handles.size > 0;
  }

  /** No block goes to two hosts (I6). */
  async #readRoutes(): Promise<void> {
    const { body } = await this.#recorder.write("routes", "GET", "/v1/routes?limit=1000");
    const cidrs = ((body.items ?? []) as { destination?: string }[]).map((route) => route.destination);
    const twice = cidrs.filter((cidr, index) => cidrs.indexOf(cidr) !== index);
    if (twice.length > 0) this.faults.push(`I6: routes list twice: ${twice.join()}`);
  }

  /** Ends single objects while all others go on: their callers learn that something is lost, or nothing. */
  async #endObjects(): Promise<void> {
    const { hosts, blocks, blockAt } = this.#ground;
    const draw = (count: number): number => Math.floor(this.#random() * count);
    const some: readonly (readonly [keyof Ports, ...(string | number)[]])[] = [
      ["host", hosts[draw(hosts.length)] ?? ""],
      ["block", blockAt(draw(blocks))],
      ["handleIndexShard", 0],
      ["pool", "wide", 0],
      ["cluster"],
      ["sweep"],
    ];
    const [kind, ...name] = some[draw(some.length)] ?? (["cluster"] as const);
    await this.#recorder.endObject(kind, ...name);
  }

  /** Sends a write until its outcome is known; one that is done already was done by an earlier try. */
  async #surely(
    what: string,
    method: string,
    path: string,
    body?: object,
    note: (write: PolicyWrite) => void = () => undefined,
  ): Promise<Written> {
    for (let left = TRIES; ; left -= 1) {
      const { body: _body, ...write } = await this.#recorder.write(what, method, path, body);
      const isDone = method === "DELETE" && write.code?.endsWith("_not_found") === true;
      note({ ...write, ...(isDone ? { outcome: "ok" as const } : {}), value: undefined });
      if (write.outcome !== "unknown" || left <= 1) return write;
      await pause(AGAIN_MS);
    }
  }
}
