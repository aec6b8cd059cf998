/**
 * Owners of addresses through the HTTP API, in the words of the cases.
 * May import: src/client, the rest of this folder. Rule: it translates, and decides nothing.
 */
import { vmHandle } from "../../src/client/vm-handle.ts";
import { refusal } from "./api-allocations.ts";
import type { ApiAnswer, ApiWorld } from "./api-connection.ts";
import type { Operations, Outcome, OwnerPreconditions, OwnerUpdates } from "./vocabulary.ts";

type Part = Partial<Operations>;
type Labels = Readonly<Record<string, string>>;

export function owners(world: ApiWorld): Part {
  return {
    async setOwnerAttributes({ ip, handle, updates, preconditions = {} }) {
      const body = { handle, ...updateFields(updates), ...conditionFields(preconditions) };
      const answer = await world.send("PATCH", `/v1/allocations/${encodeURIComponent(ip)}/owners`, body);
      return answer.status < 300 ? {} : ownerRefusal(answer);
    },
    async promoteVmOwner({ network, namespace, vm, targetPod: pod }) {
      const handle = await vmHandle({ network, namespace, vm });
      const body = { handle, change: "promote", owner: { namespace, pod } };
      const answer = await world.send("POST", "/v1/owner-changes", body);
      return answer.status < 300 ? {} : ownerRefusal(answer);
    },
    async vmHandleId(machine) {
      const handle = await vmHandle(machine);
      // Callers name the handle; the service must take it.
      await world.must("GET", `/v1/handles/${encodeURIComponent(handle)}`);
      return { handle };
    },
  };
}

/** The handle of a release and that of an owner's change have two words in the cases. */
function ownerRefusal(answer: ApiAnswer): Outcome {
  return answer.body.code === "handle_mismatch" ? { error: { kind: "handleMismatch" } } : refusal(answer);
}

/** No updates at all cannot be said without a null. */
function updateFields(updates: OwnerUpdates | null) {
  if (updates === null) return { setActive: null };
  return withoutAbsent({
    setActive: updates.activeOwner,
    clearActive: updates.clearActiveOwner,
    setAlternate: updates.alternateOwner,
    clearAlternate: updates.clearAlternateOwner,
  });
}

function conditionFields(conditions: OwnerPreconditions) {
  const { expectedActiveOwner: active, expectedAlternateOwner: alternate } = conditions;
  return withoutAbsent({
    expectActive: isNobody(active) ? undefined : active,
    expectActiveEmpty: isNobody(active) ? true : conditions.verifyActiveOwnerEmpty,
    expectAlternate: isNobody(alternate) ? undefined : alternate,
    expectAlternateEmpty: isNobody(alternate) ? true : conditions.verifyAlternateOwnerEmpty,
  });
}

/** An expected owner without pod and namespace stands for nobody; we have a word for that. */
function isNobody(owner: Labels | undefined): boolean {
  return owner !== undefined && (owner.pod ?? "") === "" && (owner.namespace ?? "") === "";
}

function withoutAbsent(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
