/**
 * Hosts whose removal does not end by itself: what of theirs no collector releases.
 * May import: core, platform, rpc and http. A host that does not answer in time is left out.
 */
import { callOnce } from "../../platform/call.ts";
import type { Kept } from "../../rpc/host.ts";
import { mapBounded } from "../concurrency.ts";
import type { Call } from "../operation.ts";
import { waitLimitMs } from "../waiting.ts";

/** A host that stays `removing`, and what holds it. */
export interface HeldRemoval {
  readonly host: string;
  readonly kept: Kept;
}

/** Asks hosts that are being removed what holds them; those that end by themselves are left out. */
export async function heldRemovals(call: Call, removing: readonly string[]): Promise<HeldRemoval[]> {
  const limit = { timeoutMs: waitLimitMs(call), sleep: call.sleep.bind(call) };
  const answers = await mapBounded(removing, async (host): Promise<HeldRemoval[]> => {
    const said = await callOnce(() => call.ports.host(host).describe({ host, asKnown: true }), limit);
    const kept = said.kind === "answered" ? said.value.view?.kept : undefined;
    return kept === undefined ? [] : [{ host, kept }];
  });
  return answers.flat();
}
