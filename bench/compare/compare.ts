/**
 * The whole comparison: starts the services, prepares, runs all lines in turn round by round, tells the result.
 * May import: the files here. Rule: what fails is said, is no result, and makes the run fail.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Fleet } from "../generator/fleet.ts";
import { describeMachine, machineText } from "../machine.ts";
import { type Service, startService } from "../service.ts";
import { Progress } from "../table.ts";
import { type Contender, SubjectContender } from "./contender.ts";
import { distancesOf, layersOf, reachesOf } from "./limits.ts";
import { tellLoad } from "./load-check.ts";
import { MAIN_SCENE, MAIN_SUBJECTS } from "./main-subjects.ts";
import { COOLING_SCENE, HELD_SCENE, OTHER_SUBJECTS, SIZES_SCENE } from "./other-subjects.ts";
import { startPeers } from "./peers.ts";
import { isSound, print, type Report, type SceneMemory } from "./report.ts";
import { checkStored } from "./stored.ts";
import type { Scene, SceneName, Stage, Subject } from "./subject.ts";
import { targetsOf } from "./targets.ts";

export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  /** Of the first run of each subject, in which the server compiles its code. */
  readonly warmUpSeconds: number;
  readonly processes: number;
  /** The ids that are wanted; empty: all. */
  readonly wanted: readonly string[];
  /** Where the JSON goes. */
  readonly file: string;
}

export const SUBJECTS: readonly Subject[] = [...MAIN_SUBJECTS, ...OTHER_SUBJECTS];

const SCENES: Readonly<Record<SceneName, Scene>> = {
  main: MAIN_SCENE,
  held: HELD_SCENE,
  cooling: COOLING_SCENE,
  sizes: SIZES_SCENE,
};

/** Runs the comparison. Returns: whether every line is a result. */
export async function compare(options: Options, subjects = SUBJECTS): Promise<boolean> {
  return await new Comparison(options, subjects).run();
}

class Comparison {
  readonly #options: Options;
  readonly #subjects: readonly Subject[];
  readonly #fleet: Fleet;
  readonly #services: Service[] = [];
  readonly #contenders: Contender[] = [];
  readonly #memory: SceneMemory[] = [];

  constructor(options: Options, subjects: readonly Subject[]) {
    this.#options = options;
    this.#subjects = subjects.filter(({ id }) => this.#isWanted(id));
    this.#fleet = new Fleet(options.processes);
  }

  async run(): Promise<boolean> {
    const machine = describeMachine();
    const beganAt = performance.now();
    try {
      for (const scene of Object.keys(SCENES) as SceneName[]) await this.#prepare(scene);
      const peers = await startPeers((id) => this.#isWanted(id));
      try {
        this.#contenders.push(...peers.contenders);
        // Those of one number of clients next to each other: they are compared.
        this.#contenders.sort((one, other) => one.line.clients - other.line.clients);
        if (this.#contenders.length === 0) throw new Error(`there is no subject ${this.#options.wanted}`);
        const load = await this.#tellLoad();
        await this.#measure();
        const minutes = (performance.now() - beganAt) / 60_000;
        const { rounds, seconds, processes } = this.#options;
        const report = {
          lines: this.#contenders.map(({ line }) => line),
          memory: this.#memory,
          peerMemory: peers.memory(),
          checked: await this.#checkStored(),
          notes: [...load, ...peers.skipped],
        };
        console.log(`\n${machineText(machine)}`);
        console.log(`${rounds} rounds of ${seconds} s, all lines in turn; ${minutes.toFixed(1)} minutes\n`);
        print(report);
        this.#write({ machine, rounds, seconds, processes }, report);
        return isSound(report);
      } finally {
        await peers.close();
      }
    } finally {
      this.#fleet.close();
      for (const service of this.#services) await service.stop();
    }
  }

  #isWanted(id: string): boolean {
    const { wanted } = this.#options;
    return wanted.length === 0 || wanted.includes(id);
  }

  /** Starts the service of a scene, and prepares it and its subjects. */
  async #prepare(scene: SceneName): Promise<void> {
    const subjects = this.#subjects.filter((subject) => subject.scene === scene);
    if (subjects.length === 0) return;
    const service = await startService();
    this.#services.push(service);
    const memory = { scene, started: service.memory(), prepared: Number.NaN, ended: Number.NaN };
    const stage: Stage = {
      service,
      fleet: this.#fleet,
      progress: (what, total) => {
        const progress = new Progress(what, total);
        return (done) => progress.show(done);
      },
    };
    await SCENES[scene].prepare(stage);
    const faults = new Map<Subject, string>();
    for (const subject of subjects) {
      await subject.prepare?.(stage).catch((error: unknown) => {
        faults.set(subject, String(error));
      });
    }
    this.#memory.push({ ...memory, prepared: service.memory() });
    for (const subject of subjects) {
      for (const clients of subject.clients) {
        const contender = new SubjectContender(subject, clients, stage);
        const fault = faults.get(subject);
        if (fault !== undefined) contender.line.fault = `not prepared: ${fault}`;
        this.#contenders.push(contender);
      }
    }
  }

  async #tellLoad(): Promise<string[]> {
    const [service] = this.#services;
    if (service === undefined) return [];
    return await tellLoad(this.#fleet, service.target.url, this.#options.seconds);
  }

  async #measure(): Promise<void> {
    const { rounds, seconds, warmUpSeconds } = this.#options;
    const progress = new Progress("measuring", (rounds + 2) * this.#contenders.length);
    let done = 0;
    const isBusiest = ({ line: { id, clients } }: Contender) =>
      this.#contenders.every(({ line }) => line.id !== id || line.clients <= clients);
    const all = async (step: (contender: Contender) => Promise<void> | undefined): Promise<void> => {
      for (const contender of this.#contenders) {
        // A line that failed once is not measured on.
        if (contender.line.fault === undefined) {
          await step(contender)?.catch((error: unknown) => {
            contender.line.fault ??= String(error);
          });
        }
        done += 1;
        progress.show(done);
      }
    };
    await all((contender) => (isBusiest(contender) ? contender.warmUp(warmUpSeconds) : undefined));
    await all((contender) => (contender.line.clients === 1 ? contender.count?.() : undefined));
    for (let round = 0; round < rounds; round += 1) await all((contender) => contender.round(seconds));
    for (const [index, service] of this.#services.entries()) {
      const memory = this.#memory[index];
      if (memory !== undefined) memory.ended = service.memory();
    }
  }

  /** Reads back all that each service stores. */
  async #checkStored(): Promise<Report["checked"]> {
    const checked: Report["checked"][number][] = [];
    for (const [index, { target }] of this.#services.entries()) {
      const scene = this.#memory[index]?.scene ?? "main";
      const progress = new Progress(`reading back what is stored, ${scene}`, Math.max(1, target.ledger.size));
      checked.push({ scene, ...(await checkStored(target, (read) => progress.show(read))) });
    }
    return checked;
  }

  #write(run: object, report: Report): void {
    const { lines } = report;
    const limits = {
      distances: distancesOf(lines),
      layers: layersOf(lines),
      reaches: reachesOf(lines),
    };
    const all = { ...run, ...report, limits, targets: targetsOf(lines) };
    mkdirSync(dirname(this.#options.file), { recursive: true });
    writeFileSync(this.#options.file, `${JSON.stringify(all, null, 2)}\n`);
  }
}
