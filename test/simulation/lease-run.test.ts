/**
 * I7 and I8 at the level of the lease under chance: late and lost messages, clocks apart, Cluster
 * restarted and replaced. The same runs with one rule taken away must find what the rule prevents.
 */
import { DurableObject } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ClusterObject } from "../../durable-objects/cluster.ts";
import type { Runtime } from "../../durable-objects/runtime.ts";
import { CLUSTER_OBJECT_NAME } from "../../src/core/ids.ts";
import type { Config } from "../../src/core/policy.ts";
import type { Result } from "../../src/core/result.ts";
import { noteCases } from "../support/cases.ts";
import { range, seeds } from "../support/seeds.ts";
import type { Call } from "../support/simulation/client.ts";
import { deploy } from "../support/simulation/deployment.ts";

const SEEDS = seeds(range(1, 24));
const LEASE_MS = 1000;
const SKEW_MS = 200;
const HOSTS = ["host:v1:default:a", "host:v1:default:b", "host:v1:default:c"];

interface Message {
  readonly until: number;
  readonly revision: number;
}

/** What blocks did, on the one clock that nobody in the deployment can see. */
interface Passed {
  readonly at: number;
  readonly revision: number;
}

/** Which rule is taken away. */
type Fault = "none" | "block ignores until" | "no wait for skew";

interface Outcome {
  readonly violations: number;
  readonly passed: number;
  readonly late: number;
  readonly acknowledged: number;
  readonly failed: number;
}

/** Sends what it creates under its lease, as a Host does. */
class SenderObject extends DurableObject<unknown> {
  readonly #runtime: Runtime;

  constructor(ctx: DurableObjectState, env: unknown, runtime: Runtime) {
    super(ctx, env);
    this.#runtime = runtime;
  }

  async send({ to }: { to: string }): Promise<boolean> {
    const now = this.#runtime.now();
    const lease = await this.#runtime.policy.current(now);
    if (lease === undefined) return false;
    const message = { until: Math.min(lease.until, now + 2000), revision: lease.policy.config.revision };
    const gate = this.#runtime.ports.block(to) as unknown as { pass(message: Message): Promise<boolean> };
    return await gate.pass(message);
  }
}

async function run(seed: number, fault: Fault): Promise<Outcome> {
  const passed: Passed[] = [];
  let late = 0;
  class GateObject extends DurableObject<unknown> {
    readonly #runtime: Runtime;

    constructor(ctx: DurableObjectState, env: unknown, runtime: Runtime) {
      super(ctx, env);
      this.#runtime = runtime;
    }

    async pass({ until, revision }: Message): Promise<boolean> {
      const isLate = this.#runtime.now() > until;
      if (isLate) late += 1;
      if (isLate && fault !== "block ignores until") return false;
      passed.push({ at: world.now, revision });
      return true;
    }
  }
  const { world } = deploy(
    { ClusterObject, HostObject: SenderObject, BlockObject: GateObject },
    {
      seed,
      settings: { leaseMs: LEASE_MS, skewMs: fault === "no wait for skew" ? 0 : SKEW_MS },
      faults: { delay: [0, 20], late: 0.2, lateMax: 1500, loseRequest: 0.02, loseAnswer: 0.02, noticed: 0.5 },
      clockOffset: ({ className }, random) =>
        className === "ClusterObject" ? 0 : Math.round(random.between(-SKEW_MS, SKEW_MS)),
    },
  );
  const { random } = world;
  const writes: Call<Result<Config, unknown>>[] = [];
  let seconds = 0;
  for (let step = 0; step < 400; step += 1) {
    world.call(random.pick(HOSTS), "send", { to: random.chance(0.5) ? "10.0.0.0/26" : "10.0.0.64/26" });
    if (random.chance(0.03)) {
      // Half of the writes repeat the one before.
      if (random.chance(0.5)) seconds += 1;
      const patch = { ipCooldownSeconds: seconds };
      writes.push(world.call(CLUSTER_OBJECT_NAME, "changeConfig", { patch, by: "token:ops" }));
    }
    if (random.chance(0.01)) world.evict(CLUSTER_OBJECT_NAME);
    if (random.chance(0.01)) world.supersede(CLUSTER_OBJECT_NAME);
    await world.advance(random.between(1, 40));
  }
  await world.advance(10_000);
  const acknowledged = writes.filter(({ value }) => value?.ok === true);
  const violations = acknowledged.filter(({ value, settledAt }) => {
    const revision = value?.ok === true ? value.value.revision : 0;
    return passed.some((one) => one.at > (settledAt ?? 0) && one.revision < revision);
  });
  const failed = writes.filter(({ state }) => state === "failed").length;
  return {
    violations: violations.length,
    passed: passed.length,
    late,
    acknowledged: acknowledged.length,
    failed,
  };
}

async function runAll(fault: Fault): Promise<Outcome> {
  const total = { violations: 0, passed: 0, late: 0, acknowledged: 0, failed: 0 };
  for (const seed of SEEDS) {
    const outcome = await run(seed, fault);
    for (const key of Object.keys(total) as (keyof Outcome)[]) total[key] += outcome[key];
  }
  return total;
}

test("I7, I8: no block acts under an older policy than one that was acknowledged", async () => {
  for (const seed of SEEDS) {
    expect((await run(seed, "none")).violations, `seed ${seed}`).toBe(0);
  }
  noteCases(SEEDS.length);
});

test("the runs reach what they are about: late messages, acknowledged and cut-off writes", async () => {
  const { passed, late, acknowledged, failed } = await runAll("none");
  expect(passed).toBeGreaterThan(5000);
  expect(late).toBeGreaterThan(100);
  expect(acknowledged).toBeGreaterThan(100);
  expect(failed).toBeGreaterThan(5);
});

test("I7, I8: the runs find a block that ignores until (F5)", async () => {
  expect((await runAll("block ignores until")).violations).toBeGreaterThan(0);
});

test("I7, I8: the runs find a wait without ε (F8)", async () => {
  expect((await runAll("no wait for skew")).violations).toBeGreaterThan(0);
});
