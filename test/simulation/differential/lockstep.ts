/**
 * One history on the objects and on the in-memory reference, step by step.
 * May import: the back ends of the cases, the model, the simulation. Rule: what the rules leave open is
 * taken over from the objects, and the reference then checks that the rules allow it.
 */
import { SWEEP_OBJECT_NAME } from "../../../src/core/ids.ts";
import { apiBackend } from "../../conformance/api-backend.ts";
import { worldOf } from "../../conformance/model-backend.ts";
import { seed } from "../../conformance/model-seed.ts";
import type { Arguments, Assigned, Given, Outcome, World } from "../../conformance/vocabulary.ts";
import { Model } from "../../support/model.ts";
import { addressOf } from "../../support/model-state.ts";
import { openSimulated, type SimulatedConnection } from "../conformance/simulated-service.ts";
import { agree, type BlockText, comparable, sightOf } from "./comparison.ts";
import { type Guard, HOLDER, type RandomStep } from "./steps.ts";
import { SLOT_SECONDS } from "./worlds.ts";

const SLOT_MS = SLOT_SECONDS * 1000;
/** Within a slot no block is old enough to be taken over, in the next one it is; keys are forgotten in the second. */
const AGES = { reclaimAgeMs: 0.5 * SLOT_MS, spentKeyMs: 1.5 * SLOT_MS };
/** No block is claimed ahead of its need: the reference knows no pace. */
const SETTINGS = { ...AGES, reportMs: 1_000, claimAheadMs: 0 };
/** After each step time goes on until what the objects do by themselves is done. */
const SETTLE_MS = 3_000;

/** A number that no allocation is ever given here. */
const NOBODYS = 1_000_000;

type Release = Extract<RandomStep, { op: "releaseIps" }>["args"]["releases"][number];
type AnyOperation = (args: unknown) => Promise<Outcome>;

/** One side with what it has told of numbers. */
class Side {
  readonly world: World;
  /** The last number of each address, as this side gave it. */
  readonly #numbers = new Map<string, number>();
  #highest = new Map<string, number>();

  constructor(world: World) {
    this.world = world;
  }

  async run({ op, args }: RandomStep): Promise<Outcome> {
    const operation = this.world[op] as AnyOperation | undefined;
    if (operation === undefined) throw new Error(`no ${op}`);
    return await operation.call(this.world, op === "releaseIps" ? await this.#numbered(args) : args);
  }

  async #numbered({ releases }: Extract<RandomStep, { op: "releaseIps" }>["args"]) {
    const resolved: Arguments["releaseIps"]["releases"][number][] = [];
    for (const { number, ...item } of releases) {
      resolved.push(number === undefined ? item : { ...item, sequence: await this.#number(item.ip, number) });
    }
    return { releases: resolved };
  }

  /** A stale number is one that nobody was given, so that it is stale on both sides. */
  async #number(ip: string, guard: Guard): Promise<number> {
    const now = await this.ask("readAllocation", { ip });
    if (now.state === "allocated" && Number(now.sequence) > 0) this.#numbers.set(ip, Number(now.sequence));
    const last = this.#numbers.get(ip);
    return guard === "right" && last !== undefined ? last : NOBODYS;
  }

  async ask<O extends keyof Arguments>(op: O, args: Arguments[O]): Promise<Outcome> {
    const operation = this.world[op] as AnyOperation | undefined;
    if (operation === undefined) throw new Error(`no ${op}`);
    return await operation.call(this.world, args);
  }

  async blocks(): Promise<readonly BlockText[]> {
    const { blocks } = await this.ask("inspectBlocks", {});
    return blocks as BlockText[];
  }

  /** I3: the number of a block never falls, whatever becomes of the block. */
  checkNumbers(blocks: readonly BlockText[], who: string): void {
    for (const { cidr, sequenceNumber } of blocks) {
      const before = this.#highest.get(cidr) ?? 0;
      if (sequenceNumber < before) {
        throw new Error(`I3: ${cidr} of ${who} went from ${before} to ${sequenceNumber}`);
      }
      this.#highest.set(cidr, sequenceNumber);
    }
  }
}

export class Lockstep {
  readonly #model = new Model();
  readonly #reference: Side;
  readonly #objects: Side;
  readonly #connection: SimulatedConnection;
  #blocks: readonly BlockText[] = [];
  #slotBegan: number;

  private constructor(objects: World, connection: SimulatedConnection, given: Given) {
    this.#objects = new Side(objects);
    this.#connection = connection;
    this.#slotBegan = connection.world.now;
    seed(this.#model, given);
    this.#reference = new Side(worldOf(this.#model));
  }

  static async open(given: Given): Promise<Lockstep> {
    const opened: SimulatedConnection[] = [];
    const backend = apiBackend("objects", async () => {
      const connection = await openSimulated({ settings: SETTINGS });
      opened.push(connection);
      return connection;
    });
    const world = await backend.begin(given);
    const [connection] = opened;
    if (connection === undefined) throw new Error("nothing was opened");
    // The reference has no collector: what a removed host leaves stays there.
    await connection.world.ask(SWEEP_OBJECT_NAME, "changeGc", { paused: true, reason: "none", by: "test" });
    return new Lockstep(world, connection, given);
  }

  /** Whether a step makes sense now; hosts and pools that are not there cannot be removed. */
  #isPossible({ op, args }: RandomStep): boolean {
    const { hosts, pools, blocks, config } = this.#model.state;
    if (op === "removeHost") return hosts.has(args.host);
    // A host that was removed is refused, one that never was is not: only one side remembers which it is.
    if (op === "claimAffinity" || op === "assignIp") return hosts.has(args.host);
    // A block without owner retires when it was due by the cooldown of then, and its pool goes with it: after a
    // shorter one that is later than the reference has it, and nothing is given out meanwhile.
    const isShorter =
      op === "setConfig" && (args.ipCooldownSeconds ?? Number.POSITIVE_INFINITY) < config.ipCooldownSeconds;
    if (isShorter) return [...blocks.values()].every(({ owner }) => owner !== undefined);
    if (op === "deletePool" || op === "updatePool") return pools.has(args.name);
    return true;
  }

  /** Names the holder of an address where a step means it, whoever that is. */
  #withHolders(step: RandomStep): RandomStep {
    const named = <A extends { readonly ip: string; readonly handle?: string }>(args: A): A => {
      const held = this.#model.holderOf(args.ip);
      const holder = held === undefined || held === "cooling" ? undefined : held.tenure.handle;
      return args.handle === HOLDER ? { ...args, handle: holder ?? "nobody" } : args;
    };
    if (step.op === "setOwnerAttributes") return { ...step, args: named(step.args) };
    if (step.op !== "releaseIps") return step;
    return { ...step, args: { releases: step.args.releases.map((one) => this.#judged(named(one))) } };
  }

  /**
   * A release without its number where there is no block (any more). Why: a block that has retired may still
   * know the last number of an address, and whether it is asked depends on what the Worker remembers.
   */
  #judged({ number, ...release }: Release): Release {
    const isInBlock = this.#model.state.blockOf(addressOf(release.ip)) !== undefined;
    return isInBlock && number !== undefined ? { ...release, number } : release;
  }

  /** Runs a step on both sides; absent: it made no sense. Rejects: they differ. */
  async run(random: RandomStep): Promise<Outcome | undefined> {
    const step = this.#withHolders(random);
    if (!this.#isPossible(step)) return undefined;
    const outcome = step.op === "advanceTime" ? await this.#advance(step) : await this.#objects.run(step);
    await this.#connection.pass(SETTLE_MS);
    const blocks = await this.#objects.blocks();
    this.#model.state.preferred = chosen(outcome, this.#blocks, blocks);
    const expected = await this.#reference.run(step);
    agree(step.op, comparable(step.op, outcome), comparable(step.op, expected));
    await this.#compare(blocks);
    this.#blocks = blocks;
    if (this.#connection.world.now - this.#slotBegan >= 0.5 * SLOT_MS) throw new Error("a slot is too short");
    return outcome;
  }

  /** Goes on to the beginning of a later slot. */
  async #advance({ args: { seconds } }: Extract<RandomStep, { op: "advanceTime" }>): Promise<Outcome> {
    this.#slotBegan += seconds * 1000;
    await this.#connection.pass(this.#slotBegan - this.#connection.world.now);
    return {};
  }

  async #compare(blocks: readonly BlockText[]): Promise<void> {
    const modelBlocks = await this.#reference.blocks();
    agree("blocks", blocks.map(sightOf), modelBlocks.map(sightOf));
    for (const { cidr, allocated, cooldown, free } of blocks) {
      const [, prefix = ""] = cidr.split("/");
      const listed = [...allocated, ...cooldown, ...free];
      const capacity = 2 ** ((cidr.includes(":") ? 128 : 32) - Number(prefix));
      agree(`I2: addresses of ${cidr}`, [listed.length, new Set(listed).size], [capacity, capacity]);
    }
    this.#objects.checkNumbers(blocks, "the objects");
    this.#reference.checkNumbers(modelBlocks, "the reference");
  }

  /** Compares what is seen in whole lists only. */
  async compareAll(): Promise<void> {
    for (const op of ["inspectAffinities", "inspectHandles", "utilization"] as const) {
      agree(op, await this.#objects.ask(op, {}), await this.#reference.ask(op, {}));
    }
  }

  async end(): Promise<void> {
    await this.#objects.world.end();
  }
}

/** What the objects chose where they had a choice: blocks that gave addresses, then those claimed, and the addresses. */
function chosen(
  outcome: Outcome,
  before: readonly BlockText[],
  after: readonly BlockText[],
): readonly string[] {
  const given = [outcome.v4, outcome.v6].flatMap(
    (one) => (one as Assigned | null | undefined)?.addresses ?? [],
  );
  const ofAddress = ({ ip }: { ip: string }): string[] =>
    after.filter(({ allocated }) => allocated.includes(ip)).map(({ cidr }) => cidr);
  const owners = new Map(before.map(({ cidr, affinity }) => [cidr, affinity]));
  const claimed = after.filter(({ cidr, affinity }) => affinity !== null && owners.get(cidr) !== affinity);
  const blocks = new Set([...given.flatMap(ofAddress), ...claimed.map(({ cidr }) => cidr)]);
  return [...blocks, ...given.map(({ ip }) => ip)];
}
