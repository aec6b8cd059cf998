/**
 * Plays a case of an empty block that another host takes: who owns it, and who gets an address.
 * May import: the service of the case, what makes its world. Rule: it does what callers can do, and no more.
 */
import type { AllocationGiven, BlockGiven, LeakCase, StepGiven } from "../../core/leak-vocabulary.ts";
import type { Answers } from "./case-compare.ts";
import * as make from "./case-seed.ts";
import { CaseService } from "./case-service.ts";

interface ReclaimGiven {
  readonly pools: readonly (make.PoolGiven & { readonly blockSize: number })[];
  readonly blocks: readonly (BlockGiven & { readonly claimed_at: number })[];
  readonly allocations: readonly AllocationGiven[];
  readonly config: { readonly strict_affinity: boolean };
}

/** Tells whether a case is of this kind. */
export function isReclaim(one: LeakCase): boolean {
  return one.steps.some(({ op }) => op === "alloc_for");
}

/** Plays a case to its end; gives what each step brought about. */
export async function playReclaim(one: LeakCase): Promise<Answers[]> {
  const service = await CaseService.start();
  try {
    await seed(service, one.given as unknown as ReclaimGiven, one.steps);
    const answers: Answers[] = [];
    for (const step of one.steps) answers.push(await perform(service, step));
    return answers;
  } finally {
    await service.stop();
  }
}

async function seed(service: CaseService, given: ReclaimGiven, steps: readonly StepGiven[]): Promise<void> {
  const { pools, blocks, allocations, config } = given;
  await service.goOnAt(Math.min(...blocks.map(({ claimed_at }) => claimed_at)));
  await service.must("PATCH", "/v1/config", { strictAffinity: config.strict_affinity });
  for (const { name, ...spec } of pools) await service.must("PUT", `/v1/pools/${name}`, spec);
  const owners = blocks.flatMap(({ affinity }) => make.hostOf(affinity) ?? []);
  const asking = steps.flatMap(({ host }) => (host === undefined ? [] : [String(host)]));
  for (const host of new Set([...owners, ...asking])) await make.register(service, host, {});
  for (const block of blocks) await make.claim(service, block);
  for (const one of allocations) await make.allocate(service, one);
}

async function perform(service: CaseService, step: StepGiven): Promise<Answers> {
  await service.goOnAt(step.at_seconds);
  if (step.op === "bump_block_seq") {
    await bump(service, String(step.cidr));
    return {};
  }
  if (step.op !== "alloc_for") throw new Error(`no caller does that: ${step.op}`);
  const wish = { host: step.host, handle: "of-the-case", ipv4: { count: 1 } };
  const { status } = await service.send("POST", "/v1/allocations", wish);
  const owners = (await service.all("/v1/blocks")).map(({ affinity }) => `host:${affinity?.name}`);
  return { got_ip: status === 201, owner: owners.join(" ") };
}

/** The block changes, and is as empty as before: its owner takes an address and gives it back. */
async function bump(service: CaseService, cidr: string): Promise<void> {
  const [block] = await service.all("/v1/blocks");
  if (block?.cidr !== cidr) throw new Error(`there is no block ${cidr}`);
  const ip = cidr.replace(/\/.*/, "");
  await make.allocate(service, { ip, handle: "bump", node: block.affinity.name, attrs: {}, seq: 0 });
  await make.release(service, ip);
}
