/**
 * One history from beginning to end: a deployment, the steps of a plan under faults of chance, then rest,
 * and all that must hold. May import: the simulation. Rule: equal plans give equal lives.
 */
import { hostObjectName } from "../../../../src/core/ids.ts";
import { checkCap, checkHistory, checkLimits, checkRows, snapshot } from "../checker.ts";
import { COLLECTED, Fleet } from "../collector/fleet.ts";
import type { ObjectClass } from "../objects.ts";
import { Scene } from "../scene.ts";
import { Watch, watched } from "../watch.ts";
import { Ending } from "./ending.ts";
import type { Plan, Step } from "./plan.ts";
import { Player, POOLS } from "./player.ts";
import { Sequences } from "./sequences.ts";

export interface LifeOptions {
  /** Only these faults of chance may happen. */
  readonly onlyFaults?: ReadonlySet<string>;
  /** Told each line of what clients do and see; messages too with `isTraced`. */
  readonly onLine?: (line: string) => void;
  readonly isTraced?: boolean;
  /** Puts others in the place of the product's classes, e.g. one with a fault. */
  readonly classes?: (product: Classes) => Classes;
  /** Waited for before each step. */
  readonly beforeStep?: () => Promise<void>;
}

export interface Lived {
  /** What was wrong; a life ends with the first. */
  readonly findings: readonly string[];
  readonly reached: ReadonlyMap<string, number>;
  readonly operations: number;
  /** The faults of chance that happened, by name. */
  readonly faults: readonly string[];
}

type Classes = Record<string, ObjectClass>;

const SKEW_MS = 100;
const SETTINGS = { leaseMs: 1_000, skewMs: SKEW_MS, reclaimAgeMs: 2_000, indexPassMs: 20_000 };
/** Longer than a history in which something may be found leaked: a key that is repeated is remembered. */
const SPENT_MS = 7_200_000;
/** What a message of a Host is refused with whose clock was set forward. */
const AHEAD = /until lies more than 2 s \+ skew ahead$/;
const NEVER = /^\b$/;

/** Lives a plan. */
export async function live(plan: Plan, options: LifeOptions = {}): Promise<Lived> {
  const life = await Life.begin(plan, options);
  try {
    await life.work(plan.steps, options);
    if (life.findings.length === 0) await life.end();
  } catch (thrown) {
    life.found(`liveness: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  } finally {
    life.scene.world.dispose();
  }
  const { findings, watch, scene } = life;
  for (const [what, n] of Object.entries(scene.world.counters.read().events)) watch.count(what, n);
  const { happened } = scene.world.chance;
  return { findings, reached: watch.reached, operations: plan.steps.length, faults: happened };
}

class Life {
  readonly scene: Scene;
  readonly watch: Watch;
  readonly #plan: Plan;
  readonly #player: Player;
  readonly #fleet: Fleet;
  readonly #sequences = new Sequences();
  readonly #found = new Set<string>();
  readonly #line: (text: string) => void;

  private constructor(plan: Plan, scene: Scene, watch: Watch, onLine: LifeOptions["onLine"]) {
    this.#plan = plan;
    this.scene = scene;
    this.watch = watch;
    const { scheduler } = scene.world;
    const start = scheduler.now;
    this.#line = (text) => onLine?.(`${(scheduler.now - start).toFixed(1).padStart(9)} ${text}`);
    const found = (finding: string) => this.found(finding);
    this.#fleet = new Fleet(scene, watch, plan.collects, found);
    this.#player = new Player(scene, watch, this.#line, this.#fleet);
  }

  static async begin(plan: Plan, options: LifeOptions): Promise<Life> {
    const { onlyFaults, onLine, isTraced = false, classes = (product) => product } = options;
    const { seed, hosts, cap, laneBatches, collects, faults } = plan;
    const affinity = cap > 0 ? { strictAffinity: true, maxBlocksPerHost: cap } : { strictAffinity: false };
    const watch = new Watch();
    const scene = await Scene.open({
      seed,
      pools: POOLS,
      hosts,
      config: { ...affinity, ...(collects ? COLLECTED : {}) },
      classes: classes(watched(watch)),
      // In half of the lives all that may be gathered is.
      settings: {
        ...SETTINGS,
        laneBatches,
        aloneMax: laneBatches === 1 ? 0 : 4,
        ...(collects ? { spentKeyMs: SPENT_MS } : {}),
      },
      clockOffset: (_place, random) => Math.round(random.between(-SKEW_MS / 2, SKEW_MS / 2)),
      faults,
      isTraced,
      ...(onlyFaults === undefined ? {} : { onlyFaults }),
    });
    watch.obeyed.strict = cap > 0;
    const life = new Life(plan, scene, watch, onLine);
    if (isTraced)
      scene.world.scheduler.onLine = (line) => life.#line(`    ${line.slice(line.indexOf(" ") + 1)}`);
    return life;
  }

  get findings(): string[] {
    const expected = this.#plan.steps.some(({ operation }) => operation.do === "set clock") ? AHEAD : NEVER;
    const defects = [...this.scene.world.counters.defects]
      .filter((defect) => !expected.test(defect))
      .map((defect) => `defect: ${defect}`);
    return [...this.#found, ...this.watch.findings, ...defects];
  }

  found(finding: string): void {
    if (!this.#found.has(finding)) this.#line(`FOUND ${finding}`);
    this.#found.add(finding);
  }

  async work(steps: readonly Step[], { beforeStep }: LifeOptions): Promise<void> {
    for (const { operation, pauseMs } of steps) {
      await beforeStep?.();
      this.#player.play(operation);
      await this.scene.world.advance(pauseMs);
      this.#look();
      if (this.findings.length > 0) return;
    }
  }

  /** The faults end; what is under way comes to its end; nothing hangs. */
  async end(): Promise<void> {
    const { world } = this.scene;
    const { policy } = this.#player;
    world.faults = {};
    for (const host of this.#plan.hosts) world.setClock(hostObjectName(host), 0);
    this.#line("faults end");
    await world.advance(15_000);
    if (policy.isBusy) await world.advance(200_000);
    for (const what of policy.unheard) this.found(`liveness: ${what} was never acknowledged`);
    this.#look();
    for (const finding of checkHistory(this.scene, snapshot(this.scene))) this.found(finding);
    if (this.findings.length > 0) return;
    const found = (finding: string) => this.found(finding);
    const ending = new Ending({
      scene: this.scene,
      plan: this.#plan,
      policy,
      found,
      look: () => this.#look(),
      fleet: this.#fleet,
    });
    await ending.run();
  }

  /** What holds at any time. */
  #look(): void {
    const seen = snapshot(this.scene);
    const { cap } = this.#plan;
    const found = [
      ...checkRows(seen),
      ...checkLimits(this.scene, seen),
      ...(cap > 0 ? checkCap(seen, cap) : []),
      ...this.#sequences.check(seen),
    ];
    for (const finding of found) this.found(finding);
    this.#fleet.witness.check(seen);
  }
}
