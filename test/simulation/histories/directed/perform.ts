/**
 * Plays a directed history: a short script that is silent, and that finds one planted fault.
 * May import: the simulation. Rule: a script that does not reach its point is an error, never silence.
 */
import { checkHistory, checkLimits, checkRows, snapshot } from "../../../support/simulation/checker.ts";
import { COLLECTED, Fleet } from "../../../support/simulation/collector/fleet.ts";
import { Sequences } from "../../../support/simulation/histories/sequences.ts";
import { Scene, type SceneOptions } from "../../../support/simulation/scene.ts";
import { Watch, watched } from "../../../support/simulation/watch.ts";

/** A script, and the deployment that it is played on. */
export interface Directed {
  readonly options: SceneOptions & {
    /** Requests come from pods, of which agents report. */
    readonly hasPods?: boolean;
  };
  /** What is told in any case, with a fault or without. */
  readonly expects?: RegExp;
  readonly play: (stage: Stage) => Promise<void>;
}

/** Longer than any message or claim of a script is under way. */
const REST_MS = 15_000;
const LOOKS_MAX = 1_000;

/** A deployment, and all that was seen to be wrong in it. */
export class Stage {
  readonly scene: Scene;
  readonly watch: Watch;
  readonly #found = new Set<string>();
  readonly #sequences = new Sequences();
  readonly #fleet: Fleet | undefined;

  constructor(scene: Scene, watch: Watch, hasPods: boolean) {
    this.scene = scene;
    this.watch = watch;
    this.#fleet = hasPods ? new Fleet(scene, watch, true, (finding) => this.found(finding)) : undefined;
  }

  /** The pods and agents of a script that says that it has them. */
  get fleet(): Fleet {
    if (this.#fleet === undefined) throw new Error("the script has no pods");
    return this.#fleet;
  }

  get findings(): string[] {
    const defects = [...this.scene.world.counters.defects].map((defect) => `defect: ${defect}`);
    return [...this.#found, ...this.watch.findings, ...defects];
  }

  found(finding: string): void {
    this.#found.add(finding);
  }

  look(): void {
    const seen = snapshot(this.scene);
    const all = [...checkRows(seen), ...checkLimits(this.scene, seen), ...this.#sequences.check(seen)];
    for (const finding of all) this.found(finding);
    this.#fleet?.witness.check(seen);
  }

  /** Goes on for so long; looks after every message, or a thousand times where it is long. */
  async pass(ms: number): Promise<void> {
    const slice = Math.max(1, ms / LOOKS_MAX);
    for (let passed = 0; passed < ms; passed += slice) {
      await this.scene.world.advance(slice);
      this.look();
    }
  }

  /** Goes on until a client's code has its answer; other clients' messages go on with it. */
  async until<T>(promise: Promise<T>): Promise<T> {
    const value = await this.scene.world.during(promise);
    this.look();
    return value;
  }

  /** Throws when a history is not at the point that its script is about: it proves nothing then. */
  isAt(point: boolean, what: string): void {
    if (!point) throw new Error(`the script did not reach: ${what}`);
  }

  /** Nothing goes wrong any more; what clients were told is compared with what is held. */
  async end(): Promise<void> {
    await this.scene.world.advance(REST_MS);
    this.look();
    for (const finding of checkHistory(this.scene, snapshot(this.scene))) this.found(finding);
  }
}

/** Opens a deployment for a script. */
export async function open({ hasPods = false, ...rest }: Directed["options"]): Promise<Stage> {
  const watch = new Watch();
  const config = hasPods ? { ...COLLECTED, ...rest.config } : rest.config;
  const configured = config === undefined ? {} : { config };
  const scene = await Scene.open({ isTraced: false, ...rest, ...configured, classes: watched(watch) });
  return new Stage(scene, watch, hasPods);
}

/** Plays a script to its end; tells what was found. */
export async function perform({ options, expects, play }: Directed): Promise<string[]> {
  const stage = await open(options);
  try {
    await play(stage);
    await stage.end();
  } catch (thrown) {
    stage.found(`script: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  } finally {
    stage.scene.world.dispose();
  }
  return stage.findings.filter((finding) => expects?.test(finding) !== true);
}
