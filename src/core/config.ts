/**
 * The switches of the service: their defaults, how they change, which ones exclude each other.
 * May import: core only. Ranges of single fields are checked where the body is read.
 */
import { given, nextRevision, type Revised, type Stamp } from "./definition.ts";
import { type Rejection, rejection } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { BLOCKS_PER_HOST_MAX, COOLDOWN_SECONDS_MAX } from "./limits.ts";
import type { Config } from "./policy.ts";
import { err, ok, type Result } from "./result.ts";

/** The fields to change; one that is absent stays as it is. */
export type ConfigPatch = { readonly [K in keyof Omit<Config, keyof Revised>]?: Config[K] | undefined };

/** The configuration of a deployment where nobody wrote one: revision 0. */
export function defaultConfig(now: number): Config {
  return {
    strictAffinity: false,
    autoAllocateBlocks: true,
    maxBlocksPerHost: 0,
    kubeVirtVMAddressPersistence: "Enabled",
    ipCooldownSeconds: 0,
    maintenance: false,
    revision: 0,
    updatedAt: now,
  };
}

/**
 * Applies a patch; one that changes nothing gives back the very same configuration.
 * Rejects: strict affinity and autoAllocateBlocks both off, where new hosts could only borrow;
 * a cap without strict affinity, which borrowing would pass by.
 */
export function changeConfig(
  current: Config,
  patch: ConfigPatch,
  stamp: Stamp,
): Result<Config, Rejection<"config_conflict">> {
  const changes = given(patch);
  const next: Config = { ...current, ...changes };
  invariant(inRange(next.maxBlocksPerHost, BLOCKS_PER_HOST_MAX), "maxBlocksPerHost out of range");
  invariant(inRange(next.ipCooldownSeconds, COOLDOWN_SECONDS_MAX), "ipCooldownSeconds out of range");
  if (!next.strictAffinity && !next.autoAllocateBlocks) {
    return conflict(patch.autoAllocateBlocks === false ? "autoAllocateBlocks" : "strictAffinity");
  }
  if (!next.strictAffinity && next.maxBlocksPerHost > 0) {
    return conflict((patch.maxBlocksPerHost ?? 0) > 0 ? "maxBlocksPerHost" : "strictAffinity");
  }
  const keys = Object.keys(changes) as (keyof ConfigPatch)[];
  if (keys.every((key) => next[key] === current[key])) return ok(current);
  const { updatedBy: _previous, ...fields } = next;
  return ok({ ...fields, ...nextRevision(current, stamp) });
}

function inRange(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}

function conflict(field: string): { readonly ok: false; readonly error: Rejection<"config_conflict"> } {
  return err(rejection("config_conflict", { field }));
}
