/**
 * What the changes of owners share: faults between fields, and until when a change may act.
 * May import: core, rpc and http.
 */
import type { Attributes } from "../../core/allocation.ts";
import { type FieldFault, type Rejection, rejection } from "../../core/errors.ts";
import type { CompiledPolicy } from "../../core/policy.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Principal } from "../auth.ts";
import type { Call } from "../operation.ts";

/** Members of an update that say two things of one owner. */
const EXCLUSIVE = [
  ["setActive", "clearActive"],
  ["setAlternate", "clearAlternate"],
  ["expectActive", "expectActiveEmpty"],
  ["expectAlternate", "expectAlternateEmpty"],
] as const;

/** Finds members that contradict each other. Shape: well-formed members only. */
export function ownerReview(body: Record<string, unknown>): FieldFault[] {
  return EXCLUSIVE.filter(([one, other]) => body[one] !== undefined && body[other] === true).map(
    ([one, other]) => ({
      pointer: `/${other}`,
      code: "conflicting_fields",
      message: `must not be true together with ${one}`,
    }),
  );
}

/** Finds owners that an agent would put on another host. */
export function nodeFaults(
  body: { readonly setActive?: Attributes | undefined; readonly setAlternate?: Attributes | undefined },
  { role, host }: Principal,
): FieldFault[] {
  if (role !== "agent") return [];
  return (["setActive", "setAlternate"] as const).flatMap((name): FieldFault[] => {
    const node = body[name]?.node;
    if (node === undefined || node === host) return [];
    const message = "is stamped by the service: leave it out, or give the agent's host";
    return [{ pointer: `/${name}/node`, code: "attribute_conflict", message }];
  });
}

/** Finds an owner who is nobody: a change moves somebody. */
export function namedOwnerReview(body: Record<string, unknown>): FieldFault[] {
  const owner = body.owner as { readonly namespace?: string; readonly pod?: string } | undefined;
  if (owner === undefined) return [];
  return (["namespace", "pod"] as const)
    .filter((member) => owner[member] === "")
    .map((member) => ({ pointer: `/owner/${member}`, code: "required", message: "must not be empty" }));
}

/** The leased policy, and until when a message under it may act. */
export async function writeUntil(
  call: Call,
): Promise<Result<{ policy: CompiledPolicy; until: number }, Rejection<"policy_unavailable">>> {
  const leased = await call.policy.current(call.now());
  if (leased === undefined) return err(rejection("policy_unavailable", {}));
  const until = Math.min(
    leased.until,
    call.now() + call.settings.untilMs,
    call.deadlineAt ?? Number.POSITIVE_INFINITY,
  );
  return ok({ policy: leased.policy, until });
}

/** A block that took a message too late: nothing was changed. */
export function lateBlock(): Rejection<"overloaded"> {
  return rejection("overloaded", { where: "block" }, 1);
}
