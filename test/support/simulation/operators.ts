/**
 * What operators and migrations do to a deployment, as the Worker does it, beside its clients.
 * May import: src, the scene. Rule: whatever an answer was, nothing here throws.
 */
import type { Call } from "../../../src/http/operation.ts";
import { changeOwnerOf, type OwnerChange } from "../../../src/http/writing/change-owner.ts";
import { releaseBlocks } from "../../../src/http/writing/release-affinities.ts";
import type { Scene } from "./scene.ts";

const UNKNOWN = ["unknown"];

function callOf(scene: Scene): Call {
  const { ports, settings, policy } = scene.deployed;
  return {
    ports,
    settings,
    policy,
    principal: { subject: "test", role: "admin", method: "none" },
    now: () => scene.world.now,
    sleep: (ms: number) => scene.world.sleep(ms),
  } as unknown as Call;
}

/** Claims one block for a host, whoever owns it; tells what was answered. */
export async function claimBlock(scene: Scene, host: string, pool: string, block: string): Promise<string[]> {
  const message = { host, block, pool, incarnation: 0 };
  const answer = scene.deployed.ports.host(host).claimBlock(message);
  return await answer.then(({ kind }) => [kind]).catch(() => UNKNOWN);
}

/** Takes the blocks of a host from it; tells what became of each. */
export async function giveUpBlocks(scene: Scene, host: string, mustBeEmpty: boolean): Promise<string[]> {
  const call = callOf(scene);
  try {
    const leased = await call.policy.current(call.now());
    if (leased === undefined) return UNKNOWN;
    const { judged } = await releaseBlocks(call, leased.policy, { host }, mustBeEmpty);
    return judged.map(({ outcome, refusal }) => refusal?.code ?? outcome.outcome);
  } catch {
    return UNKNOWN;
  }
}

/** Changes one owner of all that a handle holds; tells what was answered. */
export async function changeOwner(scene: Scene, change: OwnerChange): Promise<string[]> {
  try {
    const answer = await changeOwnerOf(callOf(scene), change);
    if (!answer.ok) return [answer.error.code];
    return Object.entries(answer.value).flatMap(([name, count]) => (Number(count) > 0 ? [name] : []));
  } catch {
    return UNKNOWN;
  }
}

/** Sets the owners of one address; tells what was answered. */
export async function setOwners(
  scene: Scene,
  { block, address, handle }: { readonly block: string; readonly address: string; readonly handle: string },
  pods: { readonly active: string; readonly alternate: string },
): Promise<string[]> {
  const { ports, policy, settings } = scene.deployed;
  const named = (pod: string) => (pod === "" ? {} : { namespace: "n", pod });
  try {
    const leased = await policy.current(scene.world.now);
    if (leased === undefined) return UNKNOWN;
    const until = Math.min(leased.until, scene.world.now + settings.untilMs);
    const set = { active: named(pods.active), alternate: named(pods.alternate) };
    const message = { block, address, handle, set, expect: {}, until, cooldownMs: 0 };
    const { kind } = await ports.block(block).updateOwners(message);
    return [kind];
  } catch {
    return UNKNOWN;
  }
}
