/**
 * A deployment for sweeps: the real Sweep and Cluster, Hosts that answer audits and Pools that tell of their
 * use as a test says.
 * May import: the simulation, src, durable-objects.
 */
import { ClusterObject } from "../../../durable-objects/cluster.ts";
import { SweepObject } from "../../../durable-objects/sweep.ts";
import type {
  AuditAnswer,
  AuditRequest,
  GcView,
  HostLeakFigures,
  WeighRequest,
} from "../../../src/rpc/leaks.ts";
import type { PoolTarget, PoolUsageView } from "../../../src/rpc/pool.ts";
import { type DeploymentOptions, deploy } from "../../support/simulation/deployment.ts";

export const SWEEP = "sweep:v1:default";
export const MINUTE = 60_000;
/** Of the default grace of 15 minutes. */
export const PERIOD = 7.5 * MINUTE;

export type Audit = (request: AuditRequest, now: number) => Promise<AuditAnswer> | AuditAnswer;

/** What a host tells that holds ten addresses, none of them suspected. */
export function figuresOf(given: Partial<HostLeakFigures> = {}): HostLeakFigures {
  return {
    auditedAt: 0,
    allocated: 10,
    counts: { candidates: 0, confirmed: 0, held: 0 },
    heldByReason: {},
    unknownBySource: {},
    unauditable: {},
    report: { state: "never", workloads: 0 },
    pools: {},
    isGone: false,
    ...given,
  };
}

export function audited(now: number, given: Partial<HostLeakFigures> = {}): AuditAnswer {
  return { kind: "audited", figures: figuresOf({ auditedAt: now, ...given }), calls: 2 };
}

/** A pool of 1,000 addresses of which so many are used. */
export function usageOf(used: number): PoolUsageView {
  return {
    ...{ capacity: "1000", allocated: String(used), cooling: "0", reserved: "0" },
    ...{ available: String(1_000 - used), usedPercent: used / 10 },
    ...{ blocks: 1, blocksFull: 0, blocksUnowned: 0, asOf: 0, exact: false },
  };
}

export class SweepStage {
  readonly deployed: ReturnType<typeof deploy>;
  /** Every visit, in order. */
  readonly visits: AuditRequest[] = [];
  /** How a host answers; all others are audited and clean. */
  readonly answers = new Map<string, Audit>();
  /** What pools tell by name; all others do not answer. */
  readonly usages = new Map<string, PoolUsageView>();
  /** Calls that the Sweep made in each of its alarms. */
  readonly callsPerEvent: number[] = [];

  constructor(options: DeploymentOptions = {}) {
    const stage = this;
    class FakeHost {
      readonly #now: () => number;
      constructor(_ctx: unknown, _env: unknown, runtime: { now(): number }) {
        this.#now = () => runtime.now();
      }
      async audit(request: AuditRequest): Promise<AuditAnswer> {
        stage.visits.push(request);
        const answer = stage.answers.get(request.host);
        return (await answer?.(request, this.#now())) ?? audited(this.#now());
      }
    }
    class FakePool {
      async usage({ pool }: PoolTarget): Promise<PoolUsageView> {
        const usage = stage.usages.get(pool);
        if (usage === undefined) throw new Error("no answer");
        return usage;
      }
    }
    class CountedSweep extends SweepObject {
      override async alarm(): Promise<void> {
        const before = stage.calls();
        await super.alarm();
        stage.callsPerEvent.push(stage.calls() - before);
      }
    }
    const classes = {
      ...{ ClusterObject, SweepObject: CountedSweep },
      ...{ HostObject: FakeHost as never, PoolObject: FakePool as never },
    };
    this.deployed = deploy(classes, options);
  }

  get world() {
    return this.deployed.world;
  }

  get sweep() {
    return this.deployed.ports.sweep();
  }

  /** Calls that the Sweep has made by now. */
  calls(): number {
    const own = Object.entries(this.world.counters.read().calls).filter(([route]) =>
      route.startsWith("SweepObject>"),
    );
    return own.reduce((sum, [, n]) => sum + n, 0);
  }

  async enrol(...hosts: readonly string[]): Promise<void> {
    for (const host of hosts) {
      await this.world.during(this.deployed.ports.cluster().enrol({ host, registered: true, labels: {} }));
    }
  }

  /** Makes a pool of 1,024 addresses that warns from 90 %; `nth` says where. */
  async pool(name: string, nth: number): Promise<void> {
    const spec = {
      cidr: `10.${Math.floor(nth / 64)}.${(nth % 64) * 4}.0/22`,
      blockSize: 26,
      warnAtPercent: 90,
    };
    await this.world.during(this.deployed.ports.cluster().putPool({ name, spec, by: "test" }));
  }

  /** A whole sweep, and what it tells of is told. */
  async swept(): Promise<void> {
    await this.world.during(this.sweep.startSweep({ by: "test" }));
    await this.world.advance(MINUTE);
  }

  /** A trigger calls. */
  async tick(source: "cron" | "alarm" | "manual" = "cron") {
    return await this.world.during(this.sweep.tick({ source }));
  }

  async gc(): Promise<GcView> {
    const ask = () => this.sweep.getGc({});
    // The Sweep may be cut off while it is asked.
    return await this.world.during(ask()).catch(() => this.world.during(ask()));
  }

  /** Lets virtual time pass with a trigger each minute. */
  async minutes(count: number, source: "cron" | "none" = "none"): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      if (source === "cron") await this.tick();
      await this.world.advance(MINUTE);
    }
  }

  async weigh(host: string, given: Partial<WeighRequest> = {}) {
    const wish = { host, due: 1, wanted: 1, isRemoved: false, isLost: false, figures: figuresOf(), ...given };
    return await this.world.during(this.sweep.weigh(wish));
  }

  /** Hosts by name, each as often as it was visited in a sweep. */
  visitsIn(sweep: number): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const visit of this.visits) {
      if (visit.sweep === sweep) counts[visit.host] = (counts[visit.host] ?? 0) + 1;
    }
    return counts;
  }

  async events(type?: string) {
    const filter = type === undefined ? {} : { type };
    return (await this.world.during(this.deployed.ports.cluster().listEvents({ ...filter, limit: 1_000 })))
      .events;
  }
}

export function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `h${String(n).padStart(4, "0")}`);
}
