/**
 * Owners of addresses and of blocks in the in-memory reference, in the words of the cases.
 * May import: the model, the rest of this folder. Rule: it translates, and decides nothing.
 */
import type { Model } from "../support/model.ts";
import * as say from "./translation.ts";
import type { Arguments, Operations, Outcome, OwnerPreconditions } from "./vocabulary.ts";

type Part = Partial<Operations>;

const SUCCESS: Outcome = {};

export function owners(model: Model): Part {
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

export function affinities(model: Model): Part {
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
      releasedOr(model.releaseRange(undefined, cidr, mustBeEmpty)),
    releaseHostAffinities: async ({ host, type, mustBeEmpty = false }) =>
      releasedOr(model.releaseOwner(say.ownerName(host, type), mustBeEmpty)),
    releasePoolAffinities: async ({ cidr }) => releasedOr(model.releaseRange(undefined, cidr, false)),
    async removeHost({ host }) {
      model.removeHost(host);
      return SUCCESS;
    },
  };
}
