/**
 * Runs cases on the in-memory reference. May import: the model, the rest of this folder.
 * Rule: it translates, and decides nothing.
 */
import { parseCidrMasked } from "../../src/core/cidr.ts";
import { matches } from "../../src/core/selector.ts";
import { parseSelector } from "../../src/core/selector-parser.ts";
import type { PoolFigures } from "../support/model.ts";
import { Model } from "../support/model.ts";
import type { Shortage } from "../support/model-allocate.ts";
import type { Held } from "../support/model-state.ts";
import { inspections } from "./model-inspection.ts";
import { seed } from "./model-seed.ts";
import * as say from "./translation.ts";
import type {
  Arguments,
  Backend,
  OperationName,
  Operations,
  Outcome,
  OwnerPreconditions,
  World,
} from "./vocabulary.ts";

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
        partial: true,
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

function owners(model: Model): Part {
  return {
    async getAttributes({ ip }) {
      const held = model.holderOf(ip);
      if (held === "cooling") return { error: { kind: "inCooldown" } };
      if (held === undefined) return say.failure("address_not_allocated");
      const { handle, active, alternate } = held.tenure;
      return {
        handle: handle ?? null,
        activeOwner: say.ownerText(active),
        alternateOwner: say.ownerText(alternate),
      };
    },
    async setOwnerAttributes({ ip, handle, updates, preconditions = {} }) {
      if (updates === null || contradicts(updates, preconditions)) return say.failure("invalid_request");
      const active = updates.clearActiveOwner === true ? {} : updates.activeOwner;
      const alternate = updates.clearAlternateOwner === true ? {} : updates.alternateOwner;
      const nobody = (mustBe: boolean | undefined) => (mustBe === true ? {} : undefined);
      const expectedActive =
        preconditions.expectedActiveOwner ?? nobody(preconditions.verifyActiveOwnerEmpty);
      const expectedAlternate =
        preconditions.expectedAlternateOwner ?? nobody(preconditions.verifyAlternateOwnerEmpty);
      const fault = model.changeOwners(
        { address: ip, handle },
        { ...(active && { active }), ...(alternate && { alternate }) },
        {
          ...(expectedActive && { active: expectedActive }),
          ...(expectedAlternate && { alternate: expectedAlternate }),
        },
      );
      if (fault === undefined) return SUCCESS;
      return fault === "handle_mismatch" ? { error: { kind: "handleMismatch" } } : say.failure(fault);
    },
    async promoteVmOwner({ network, namespace, vm, targetPod }) {
      const fault = model.promote(vmHandle({ network, namespace, vm }), { namespace, pod: targetPod });
      return fault === undefined ? SUCCESS : say.failure(fault);
    },
    async vmHandleId(args) {
      return { handle: vmHandle(args) };
    },
  };
}

function contradicts(
  updates: NonNullable<Arguments["setOwnerAttributes"]["updates"]>,
  conditions: OwnerPreconditions,
): boolean {
  return [
    updates.clearActiveOwner === true && updates.activeOwner !== undefined,
    updates.clearAlternateOwner === true && updates.alternateOwner !== undefined,
    conditions.verifyActiveOwnerEmpty === true && conditions.expectedActiveOwner !== undefined,
    conditions.verifyAlternateOwnerEmpty === true && conditions.expectedAlternateOwner !== undefined,
  ].some((isBoth) => isBoth);
}

function vmHandle({ network, namespace, vm }: Arguments["vmHandleId"]): string {
  return `${network || "k8s-pod-network"}.vmi.${namespace}.${vm}`;
}

function affinities(model: Model): Part {
  const releasedOr = (answer: { inUse: readonly string[] } | string): Outcome => {
    if (typeof answer === "string") return say.failure(answer);
    return answer.inUse.length > 0 ? say.failure("block_not_empty") : SUCCESS;
  };
  return {
    async claimAffinity({ host, cidr, type }) {
      const answer = model.claim(say.ownerName(host, type), cidr);
      return typeof answer === "string" ? say.failure(answer) : answer;
    },
    releaseAffinity: async ({ host, cidr, mustBeEmpty = false }) =>
      releasedOr(model.releaseRange(host, cidr, mustBeEmpty)),
    releaseBlockAffinity: async ({ cidr, mustBeEmpty = false }) =>
      releasedOr(model.releaseBlock(cidr, mustBeEmpty)),
    releaseHostAffinities: async ({ host, type, mustBeEmpty = false }) =>
      releasedOr(model.releaseOwner(say.ownerName(host, type), mustBeEmpty)),
    releasePoolAffinities: async ({ cidr }) => releasedOr(model.releaseWithin(cidr)),
    async removeHost({ host }) {
      model.removeHost(host);
      return SUCCESS;
    },
  };
}

function policy(model: Model): Part {
  return {
    getConfig: async () => ({ ...model.state.config }),
    setConfig: async (patch) => (model.changeConfig(patch) ? SUCCESS : say.failure("config_conflict")),
    configStored: async () => ({ stored: model.state.isConfigStored }),
    async createPool(text) {
      const pool = model.putPool(text);
      return pool === undefined ? { error: { kind: "validation" } } : { pool };
    },
    updatePool: async (text) =>
      model.putPool(text) === undefined ? { error: { kind: "validation" } } : SUCCESS,
    async deletePool({ name }) {
      model.drainPool(name);
      return SUCCESS;
    },
    async utilization({ pools: wanted }) {
      const pools = [...model.state.pools.values()]
        .filter(({ name, cidr }) => wanted === undefined || wanted.includes(name) || wanted.includes(cidr))
        .toSorted((one, other) => say.byText(one.name, other.name));
      return { pools: pools.map((pool) => usageText(model.figuresOf(pool))) };
    },
    async countReserved({ cidr }) {
      const range = parseCidrMasked(cidr);
      return range.ok ? { reserved: Number(model.countReserved(range.value)) } : say.failure("invalid_cidr");
    },
    async selector({ expression, labels }) {
      const parsed = parseSelector(expression);
      return parsed.ok ? { match: matches(parsed.value, labels) } : { error: { kind: "selectorSyntax" } };
    },
  };
}

/** `inUse` counts all that is not free: allocated, cooling, and set aside for the host. */
function usageText({ pool, blocks, ...figures }: PoolFigures) {
  const text = (one: Omit<PoolFigures, "pool" | "blocks">) => ({
    capacity: Number(one.capacity),
    inUse: Number(one.allocated + one.cooling + one.hostReserved),
    reserved: Number(one.reserved),
    available: Number(one.available),
  });
  return {
    name: pool.name,
    cidr: pool.cidr,
    ...text(figures),
    blocks: blocks.map((one) => ({ cidr: one.block.name, ...text(one) })),
  };
}

function hooks(model: Model): Part {
  const { state } = model;
  return {
    async applyPool(text) {
      if (model.putPool(text) === undefined) throw new Error(`${text.name} is no sound pool`);
      return SUCCESS;
    },
    async removePool({ name }) {
      state.pools.delete(name);
      return SUCCESS;
    },
    async applyHost({ name, labels }) {
      state.hosts.set(name, labels);
      return SUCCESS;
    },
    async setReservations({ reservations }) {
      state.reservations = reservations.flatMap(({ reservedCIDRs }) =>
        reservedCIDRs.map((text) => {
          const range = parseCidrMasked(text);
          if (!range.ok) throw new Error(`${text}: ${range.error.message}`);
          return range.value;
        }),
      );
      return SUCCESS;
    },
    async advanceTime({ seconds }) {
      state.now += seconds * 1000;
      state.settle();
      return SUCCESS;
    },
    // Free is derived from time: there is never anything to collect.
    gcColdIps: async () => ({ wrote: false }),
  };
}
