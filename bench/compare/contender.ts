/**
 * A subject at one number of clients, on its service: one round of it, and one operation by itself.
 * May import: the subjects, the load. Rule: counted from the objects' own counters, outside of what is timed.
 */
import type { Measurement } from "../generator/fleet.ts";
import type { Service } from "../service.ts";
import { add, type Cost, type Line, type Round } from "./line.ts";
import type { Stage, Subject } from "./subject.ts";

/** What the harness drives: a subject of the service, or a peer. */
export interface Contender {
  readonly line: Line;
  /** Runs for so long and keeps nothing. */
  warmUp(seconds: number): Promise<void>;
  round(seconds: number): Promise<void>;
  /** Counts operations one by one. */
  count?(): Promise<void>;
}

interface Counted {
  readonly calls: number;
  readonly commits: number;
  readonly rowsWritten: number;
}

/** Operations that are counted one by one. */
const ALONE = 9;
/** Operations for which a second of so many clients finds its supply. */
const SUPPLY_PER_SECOND: Readonly<Record<number, number>> = { 1: 1_500, 16: 4_000, 64: 6_000 };

export class SubjectContender implements Contender {
  readonly line: Line;
  readonly #subject: Subject;
  readonly #stage: Stage;
  readonly #clients: number;
  #next = 0;
  /** Numbers below it have what they need. */
  #supplied = 0;

  constructor(subject: Subject, clients: number, stage: Stage) {
    const { id, name, addresses = 1 } = subject;
    this.line = { id, name, clients, addresses, rounds: [] };
    this.#subject = subject;
    this.#clients = clients;
    this.#stage = stage;
  }

  async warmUp(seconds: number): Promise<void> {
    await this.#supply(seconds);
    this.#judge(await this.#run(seconds, this.#clients));
  }

  async round(seconds: number): Promise<void> {
    await this.#supply(seconds);
    const end = this.#subject.during?.(this.#stage);
    const { service } = this.#stage;
    const before = await counted(service);
    const processor = service.processor();
    const measured = await this.#run(seconds, this.#clients);
    const taken = service.processor() - processor;
    const after = await counted(service);
    await end?.();
    this.#judge(measured);
    const { operations } = measured;
    const cost = difference(before, after, operations);
    const { books: _books, next: _next, ...rest } = measured;
    const round: Round = { ...rest, cpuMicros: (taken * 1e6) / operations, cost };
    add(this.line, round);
  }

  async count(): Promise<void> {
    const costs: Cost[] = [];
    for (let number = 0; number < ALONE; number += 1) {
      await this.#supply(0.01);
      const before = await counted(this.#stage.service);
      this.#judge(await this.#run(10, 1, 1));
      costs.push(difference(before, await counted(this.#stage.service), 1));
    }
    // The least: with a lease in hand, no block to claim, and nothing else at the same time.
    const of = (what: keyof Cost) => Math.min(...costs.map((cost) => cost[what]));
    this.line.alone = { calls: of("calls"), commits: of("commits"), rows: of("rows") };
  }

  async #run(seconds: number, clients: number, limit?: number): Promise<Measurement> {
    const { plan, supply } = this.#subject;
    const { fleet, service } = this.#stage;
    const supplied = supply === undefined ? undefined : this.#supplied - this.#next;
    const most = limit ?? supplied;
    const load = { url: service.target.url, plan: plan(this.#clients), clients, seconds, from: this.#next };
    const measured = await fleet.run(most === undefined ? load : { ...load, limit: most });
    this.#next = measured.next;
    return measured;
  }

  async #supply(seconds: number): Promise<void> {
    const { supply } = this.#subject;
    if (supply === undefined) return;
    const wanted = this.#next + Math.ceil((SUPPLY_PER_SECOND[this.#clients] ?? 0) * seconds);
    if (wanted <= this.#supplied) return;
    const from = Math.max(this.#supplied, this.#next);
    await supply(this.#stage, this.#clients, from, wanted - from);
    this.#supplied = wanted;
  }

  /** No address is given twice, neither in this line nor in another of the same service. */
  #judge({ books, failed, fault }: Measurement): void {
    const wrong = this.#stage.service.target.ledger.enter(books);
    if (wrong !== undefined) this.line.fault ??= wrong;
    if (failed > 0) this.line.fault ??= `${failed} failed: ${fault}`;
  }
}

async function counted({ target }: Service): Promise<Counted> {
  return await target.ask<Counted>("GET", "/bench/counters");
}

function difference(before: Counted, after: Counted, operations: number): Cost {
  return {
    calls: (after.calls - before.calls) / operations,
    commits: (after.commits - before.commits) / operations,
    rows: (after.rowsWritten - before.rowsWritten) / operations,
  };
}
