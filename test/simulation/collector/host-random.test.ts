/**
 * I11 under chance: pods come and go, reports are lost, late, doubled, cut short, objects crash, clocks step.
 * A pod that lives never loses its address, and what is gone goes in the end.
 */
import { expect, test } from "vitest";
import { noteCases } from "../../support/cases.ts";
import { range, seeds } from "../../support/seeds.ts";
import { Random } from "../../support/simulation/random.ts";
import { HOST_A } from "../histories/stage.ts";
import { blockObject, MINUTE, type Stage, staged } from "./host-stage.ts";

const BLOCK = "10.0.0.0/26";
const STEPS = 160;
/** Reports of which copies may arrive. */
const COPIES = 8;
/** Pods that live at a time, at most. */
const PODS_MAX = 8;

class Chances {
  readonly stage: Stage;
  readonly random: Random;
  readonly alive = new Set<string>();
  #pods = 0;
  #sequence = 0;
  readonly #late: (() => Promise<unknown>)[] = [];
  /** What was sent last, as it was sent: any of it may arrive once more, at any time. */
  readonly #copies: (() => Promise<unknown>)[] = [];
  /** Steps for which the agent is silent. */
  #silence = 0;

  constructor(stage: Stage, seed: number) {
    this.stage = stage;
    this.random = new Random(seed);
  }

  async step(): Promise<void> {
    const { random, stage } = this;
    const dice = random.below(14);
    if (dice < 2) await this.#born();
    else if (dice < 4) this.alive.delete([...this.alive][random.below(PODS_MAX)] ?? "");
    else if (dice === 4) stage.world.evict(HOST_A);
    else if (dice === 5) stage.world.crash(HOST_A, "after-commit", "reportWorkloads");
    else if (dice === 6) stage.world.crash(blockObject(BLOCK), "after-commit");
    else if (dice === 7) stage.world.setClock(HOST_A, Math.floor(random.between(-30_000, 30_000)));
    else if (dice === 8) await stage.audited("a").catch(() => undefined);
    else if (dice === 9 || this.#silence > 0) await this.#copies[random.below(COPIES)]?.();
    else await this.#report();
    this.#silence = this.#silence > 0 ? this.#silence - 1 : random.below(20) === 0 ? 30 : 0;
    await stage.world.advance(random.between(0, 3 * MINUTE));
  }

  async #born(): Promise<void> {
    if (this.alive.size >= PODS_MAX) return;
    const name = `pod-${this.#pods}`;
    this.#pods += 1;
    const got = await this.stage.pod("a", name).catch(() => undefined);
    if (got?.kind === "ok") this.alive.add(name);
  }

  /** A report is seen now; it arrives now, later, twice, or not at all. */
  async #report(): Promise<void> {
    const { random } = this;
    this.#sequence += 1;
    const sequence = this.#sequence;
    const complete = random.below(5) > 0;
    const seen = [...this.alive].filter(() => complete || random.below(2) === 0);
    const seenAt = this.stage.world.now;
    const deliver = (ageMs: number) =>
      this.stage.reported("a", seen, { sequence, complete, ageMs }).catch(() => undefined);
    const send = async () => {
      const ageMs = Math.min(600_000, this.stage.world.now - seenAt);
      this.#copies.unshift(() => deliver(ageMs));
      this.#copies.splice(COPIES);
      await deliver(ageMs);
    };
    const fate = random.below(10);
    if (fate === 0) return;
    if (fate <= 2) this.#late.push(send);
    else await send();
    if (this.#late.length > 3) for (const one of this.#late.splice(0)) await one();
  }

  unharmed(): void {
    const held = this.stage.handles();
    for (const name of this.alive) expect(held, `${name} lives`).toContain(`net.${name}`);
  }
}

test.each(seeds(range(0, 16)))(
  "I11: chance never takes the address of a pod that lives (seed %i)",
  async (seed) => {
    noteCases(1);
    const stage = await staged({ seed });
    const chances = new Chances(stage, seed);
    for (let step = 0; step < STEPS; step += 1) {
      await chances.step();
      chances.unharmed();
    }
    stage.world.setClock(HOST_A, 0);
    const living = [...chances.alive];
    for (let count = 0; count < 60 && stage.handles().size > living.length; count += 1) {
      await stage.world.advance(4 * MINUTE);
      // Crashes that were planned may still come.
      await stage.reported("a", living, { sequence: 10_000 + count }).catch(() => undefined);
    }
    expect([...stage.handles()].sort()).toEqual(living.map((name) => `net.${name}`).sort());
    expect(stage.faults()).toEqual([]);
    stage.world.dispose();
  },
);
