/**
 * Runs cases on the in-memory reference. May import: the model, the rest of this folder.
 * Rule: it translates, and decides nothing.
 */
import { Model } from "../support/model.ts";
import type { Shortage } from "../support/model-allocate.ts";
import type { Held } from "../support/model-state.ts";
import { inspections } from "./model-inspection.ts";
import { affinities, owners } from "./model-ownership.ts";
import { hooks, policy } from "./model-policy.ts";
import { seed } from "./model-seed.ts";
import * as say from "./translation.ts";
import type { Backend, OperationName, Operations, Outcome, World } from "./vocabulary.ts";

/** Makes a fresh model per case. */
export const modelBackend: Backend = {
  name: "model",
  operations: operationsOf(worldOf(new Model())),
  begin: async (given) => {
    const model = new Model();
    seed(model, given);
    return worldOf(model);
  },
};

/** The operations that a world has. */
export function operationsOf(world: World): ReadonlySet<OperationName> {
  const { end: _end, ...operations } = world;
  return new Set(Object.keys(operations) as OperationName[]);
}

/** A model as a world of the cases. */
export function worldOf(model: Model): World {
  return {
    ...allocations(model),
    ...releases(model),
    ...owners(model),
    ...affinities(model),
    ...policy(model),
    ...hooks(model),
    ...inspections(model),
    end: async () => {},
  };
}

type Part = Partial<Operations>;

const SUCCESS: Outcome = {};

function allocations(model: Model): Part {
  return {
    async autoAssign(args) {
      const { host, num4 = 0, num6 = 0, use = "Workload", handle, attrs: attributes } = args;
      const answer = model.allocate({
        host: say.hostFor(host, use),
        handle,
        use,
        attributes,
        families: {
          4: { count: num4, pools: args.pools4, setAside: args.hostReserved4 },
          6: { count: num6, pools: args.pools6, setAside: args.hostReserved6 },
        },
        namespaceLabels: args.namespaceLabels,
        maxBlocksPerHost: args.maxBlocksPerHost,
        maxPerHandle: args.maxAllocPerHandlePerVersion,
        partial: args.partial ?? true,
      });
      const requested = { 4: num4, 6: num6 };
      if ("given" in answer) {
        const got = { 4: addressesOf(answer.given, 4), 6: addressesOf(answer.given, 6) };
        return say.assignment(requested, got, answer.shortfall);
      }
      if (answer.shortfall !== undefined) {
        return say.assignment(requested, { 4: [], 6: [] }, answer.shortfall);
      }
      return { ...say.failure(answer.code, answer.pointer), v4: null, v6: null };
    },
    async assignIp({ host, ip, handle, attrs: attributes, use, maxAllocPerHandlePerVersion: maxPerHandle }) {
      const wish = { host: say.hostFor(host, use), address: ip, handle, attributes, use, maxPerHandle };
      const answer = model.assign(wish);
      return "code" in answer ? say.failure(answer.code) : SUCCESS;
    },
    async ensureBlock({ host, hostReserved4, hostReserved6, pools4, pools6 }) {
      const outcome: { v4: string | null; v6: string | null } = { v4: null, v6: null };
      for (const [family, setAside, pools] of [
        [4, hostReserved4, pools4],
        [6, hostReserved6, pools6],
      ] as const) {
        if (setAside === undefined) continue;
        if (pools?.some((pool) => pool.includes(":") !== (family === 6))) {
          return say.failure("invalid_request", `/ipv${family}/pools`);
        }
        const block = model.ensureBlock(host, family, setAside, pools);
        if ("code" in block) return refused(block.code, block.shortfall);
        outcome[`v${family}`] = block.name;
      }
      return outcome;
    },
  };
}

function addressesOf(held: readonly Held[], family: 4 | 6) {
  return held
    .filter(({ block }) => block.range.family === family)
    .map(({ block, ordinal }) => ({ ip: block.address(ordinal), prefixLength: block.range.prefix }));
}

function refused(code: string, shortfall: readonly Shortage[] = []): Outcome {
  const pool = shortfall.find((short) => short.pool !== undefined)?.pool;
  return { error: { ...say.errorOf(code), ...(pool === undefined ? {} : { pool }) } };
}

function releases(model: Model): Part {
  return {
    async releaseIps({ releases: items }) {
      const outcomes = model.releaseAddresses(
        items.map(({ ip, handle, sequence }) => ({ address: ip, handle, sequenceNumber: sequence })),
      );
      if (outcomes !== undefined) return say.releaseOutcome(outcomes);
      return { ...say.failure("invalid_request", "/addresses/0/address"), released: [], unallocated: [] };
    },
    async releaseByHandle({ handle }) {
      if (!isHandle(handle)) return say.failure("invalid_request", "/handle");
      return model.releaseHandle(handle).length === 0 ? say.failure("handle_not_allocated") : SUCCESS;
    },
    async ipsByHandle({ handle }) {
      const ips = model.heldBy(handle).map(({ block, ordinal }) => block.address(ordinal));
      return ips.length === 0 ? say.failure("handle_not_allocated") : { ips: ips.toSorted(say.byText) };
    },
  };
}

/** What may name a handle (contract R4). */
export function isHandle(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,252}$/.test(text);
}
