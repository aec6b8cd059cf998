/**
 * Allocations on their way to a Host, those that arrive together in one message.
 * May import: core, rpc and http. Rule: none waits for another that takes longer; that one has a ticket.
 */
import { rejection } from "../../core/errors.ts";
import { unreachable } from "../../core/invariant.ts";
import { err } from "../../core/result.ts";
import type { HostAllocateOutcome, HostAllocateRequest, TogetherOutcome } from "../../rpc/host.ts";
import { sendGathered } from "../gathering.ts";
import type { Call } from "../operation.ts";

/** Allocates at a host. Rejects, as the call of the Host: what the platform failed with, or a defect. */
export async function allocateAt(
  request: HostAllocateRequest,
  call: Pick<Call, "ports" | "settings" | "now" | "sleep" | "keep">,
): Promise<HostAllocateOutcome> {
  const { host } = request;
  const port = () => call.ports.host(host);
  const way = {
    to: `allocate ${host}`,
    alone: async (one: HostAllocateRequest): Promise<TogetherOutcome> => {
      return { kind: "done", outcome: await port().allocate(one) };
    },
    together: async (items: readonly HostAllocateRequest[]) => {
      return (await port().allocateTogether({ host, items })).outcomes;
    },
  };
  return await conclude(request, await sendGathered(request, way, call), call);
}

/** What became of one request of a message; that of one that took longer than others is fetched. */
export async function conclude(
  request: Pick<HostAllocateRequest, "host" | "handle">,
  outcome: TogetherOutcome,
  call: Pick<Call, "ports">,
): Promise<HostAllocateOutcome> {
  switch (outcome.kind) {
    case "done":
      return outcome.outcome;
    case "failed": {
      const { name, message, stack } = outcome;
      throw Object.assign(new Error(message), { name, stack });
    }
    case "under_way": {
      const { host, handle } = request;
      const later = await call.ports.host(host).allocated({ host, ticket: outcome.ticket });
      // The Host has ended since, and with it what it knew of this request.
      if (later === undefined) return err(rejection("outcome_unknown", { host, handle }, 1));
      return await conclude(request, later, call);
    }
    default:
      return unreachable(outcome);
  }
}
