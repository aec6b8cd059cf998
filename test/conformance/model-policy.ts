/**
 * Configuration, pools, figures and hooks of the in-memory reference, in the words of the cases.
 * May import: the model, core ranges and selectors, the rest of this folder.
 */
import { parseCidrMasked } from "../../src/core/cidr.ts";
import { matches } from "../../src/core/selector.ts";
import { parseSelector } from "../../src/core/selector-parser.ts";
import type { Model, PoolFigures } from "../support/model.ts";
import * as say from "./translation.ts";
import type { Operations, Outcome } from "./vocabulary.ts";

type Part = Partial<Operations>;

const SUCCESS: Outcome = {};
const DRAINS: Outcome = { error: { kind: "pool_draining" } };

export function policy(model: Model): Part {
  return {
    getConfig: async () => ({ ...model.state.config }),
    setConfig: async (patch) => (model.changeConfig(patch) ? SUCCESS : say.failure("config_conflict")),
    configStored: async () => ({ stored: model.state.isConfigStored }),
    async createPool(text) {
      if (model.isDraining(text.name)) return DRAINS;
      const pool = model.putPool(text);
      return pool === undefined ? { error: { kind: "validation" } } : { pool };
    },
    async updatePool(text) {
      if (model.isDraining(text.name)) return DRAINS;
      return model.putPool(text) === undefined ? { error: { kind: "validation" } } : SUCCESS;
    },
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

export function hooks(model: Model): Part {
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
