/**
 * Looks into the in-memory reference for the cases. May import: the model, the rest of this folder.
 */
import type { Model } from "../support/model.ts";
import { addressOf } from "../support/model-state.ts";
import { affinityText, byText, isVirtual } from "./translation.ts";
import type { Operations } from "./vocabulary.ts";

export function inspections(model: Model): Partial<Operations> {
  const { state } = model;
  return {
    async readAllocation({ ip }) {
      state.settle();
      const address = addressOf(ip);
      const block = state.blockOf(address);
      if (block === undefined) return { state: "free", sequence: 0, blockSequence: 0, block: null };
      const ordinal = Number(address.value - block.range.base);
      const slot = block.stateOf(ordinal, state.clock);
      const words = { free: "free", allocated: "allocated", cooling: "cooldown", host_reserved: "allocated" };
      return {
        state: words[slot],
        sequence: block.tenures.get(ordinal)?.sequenceNumber ?? 0,
        blockSequence: block.sequenceNumber,
        block: block.name,
      };
    },
    async inspectBlocks() {
      state.settle();
      const blocks = [...state.blocks.values()]
        .toSorted((one, other) => byText(one.name, other.name))
        .map((block) => {
          const addresses = (ordinals: readonly number[]) => ordinals.map((one) => block.address(one));
          const inUse = [
            ...block.ordinals("allocated", state.clock),
            ...block.ordinals("host_reserved", state.clock),
          ];
          return {
            cidr: block.name,
            affinity: affinityText(block.owner),
            claimTimeSet: block.claimedAt !== undefined,
            allocated: addresses(inUse.toSorted((one, other) => one - other)),
            cooldown: addresses(block.ordinals("cooling", state.clock)),
            free: addresses(block.queue(state.clock)),
            sequenceNumber: block.sequenceNumber,
          };
        });
      return { blocks, count: blocks.length };
    },
    async inspectAffinities({ host }) {
      state.settle();
      const affinities = [...state.affinities.values()]
        .map(({ owner, block, state: of }) => ({
          host: owner.replace(/^virtual:/, ""),
          type: isVirtual(owner) ? "virtual" : "host",
          cidr: block,
          state: of,
        }))
        .filter((row) => host === undefined || row.host === host)
        .toSorted((one, other) => byText(`${one.host} ${one.cidr}`, `${other.host} ${other.cidr}`));
      return { affinities, count: affinities.length };
    },
    async inspectHandles() {
      state.settle();
      const handles: Record<string, Record<string, number>> = {};
      for (const { block, tenure } of state.held()) {
        if (tenure.handle === undefined) continue;
        const counts = handles[tenure.handle] ?? {};
        handles[tenure.handle] = counts;
        counts[block.name] = (counts[block.name] ?? 0) + 1;
      }
      return { handles };
    },
  };
}
