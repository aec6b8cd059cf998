/**
 * Exact assignment: the one address that the caller named, in whosever block it lies.
 * May import: core, rpc, platform. Rule: a reserved address may be taken, a host-reserved one never.
 */
import { type Address, parseAddress } from "../src/core/address.ts";
import type { AddressRecord } from "../src/core/allocation.ts";
import { blockOf, type Cidr, formatCidr, ordinalOf } from "../src/core/cidr.ts";
import { type Rejection, rejection } from "../src/core/errors.ts";
import { invariant } from "../src/core/invariant.ts";
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../src/core/limits.ts";
import type { CompiledPolicy, CompiledPool } from "../src/core/policy.ts";
import type { AssignRefusal, HostAssignRequest } from "../src/rpc/host.ts";
import type { LeasedPolicy } from "../src/rpc/policy-source.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { HostAttempt } from "./host-attempt.ts";
import type { Seat, SeatResult } from "./host-attempt-terms.ts";
import { again, type HostContext, poolTarget, untilOf } from "./host-context.ts";
import { saveBorrowed } from "./storage/host-rows.ts";

export type AssignResult =
  | {
      readonly kind: "assigned";
      readonly record: AddressRecord;
      readonly created: boolean;
      readonly replayed: boolean;
    }
  | { readonly kind: "refused"; readonly refusal: AssignRefusal };

/** Changes of policy that one request follows. */
const RESTARTS_MAX = 4;

interface Place {
  readonly pool: CompiledPool;
  readonly block: Cidr;
  readonly ordinal: number;
}

export class HostAssign {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #enrol: () => Promise<boolean>;
  readonly #request: HostAssignRequest;
  readonly #address: Address;
  readonly #attempt: HostAttempt;

  constructor(
    parts: { host: HostContext; affinities: HostAffinities; enrol: () => Promise<boolean> },
    request: HostAssignRequest,
  ) {
    this.#host = parts.host;
    this.#affinities = parts.affinities;
    this.#enrol = parts.enrol;
    this.#request = request;
    const parsed = parseAddress(request.address);
    invariant(parsed.ok, "the address was parsed at the edge");
    this.#address = parsed.value;
    const { host, handle, key, fingerprint, use, attributes, leakCollection, deadlineAt } = request;
    this.#attempt = new HostAttempt(parts.host, {
      host,
      handle,
      key: `${host}/${key}`,
      fingerprint,
      family: parsed.value.family,
      count: 1,
      item: { use, attributes, leakCollection },
      ...(request.maxPerHandle === undefined ? {} : { limit: request.maxPerHandle }),
      ...(deadlineAt === undefined ? {} : { deadlineAt }),
    });
  }

  async run(): Promise<AssignResult> {
    for (let round = 0; round < RESTARTS_MAX; round += 1) {
      const leased = await this.#host.runtime.policy.current(this.#host.runtime.now());
      if (leased === undefined) break;
      const result = await this.#under(leased);
      if (result !== "policy_changed") return result;
    }
    return { kind: "refused", refusal: rejection("policy_unavailable", {}, 1) };
  }

  async #under(leased: LeasedPolicy): Promise<AssignResult | "policy_changed"> {
    const { policy } = leased;
    const { maintenance, maintenanceReason } = policy.config;
    if (maintenance) {
      const reason = maintenanceReason === undefined ? {} : { reason: maintenanceReason };
      return { kind: "refused", refusal: rejection("maintenance", reason) };
    }
    const place = this.#place(policy);
    if ("code" in place) return await this.#replayOr(place, policy);
    const block = formatCidr(place.block);
    const seat = await this.#seat(place, block, leased);
    if ("code" in seat) return await this.#replayOr(seat, policy);
    return await this.#finish(await this.#attempt.take(seat, policy), seat, policy);
  }

  /** The address's pool and place in it, or why there is none. */
  #place(policy: CompiledPolicy): Place | Rejection<"address_not_in_pool" | "use_not_allowed"> {
    const { address, use } = this.#request;
    const pool = policy.poolOf(this.#address);
    if (pool === undefined) return rejection("address_not_in_pool", { address });
    const { name, disabled, terminating, blockSize, allowedUses } = pool.definition;
    if (disabled || terminating !== undefined)
      return rejection("address_not_in_pool", { address, pool: name });
    if (!allowedUses.includes(use)) return rejection("use_not_allowed", { address, pool: name });
    const block = blockOf(this.#address, blockSize);
    return { pool, block, ordinal: ordinalOf(block, this.#address) };
  }

  /** The host's own block, claimed now if it is nobody's; else a borrowed address, unless strict. */
  async #seat(place: Place, block: string, leased: LeasedPolicy): Promise<Seat | AssignRefusal> {
    const { pool, ordinal } = place;
    const { address, host } = this.#request;
    const own: Seat = { pool, block, ordinal, isOwn: true };
    if (this.#host.memory.affinities.get(block)?.state === "confirmed") return own;
    const target = poolTarget(pool);
    const port = this.#host.runtime.ports.pool(target.pool, target.incarnation);
    const found = await again(this.#host, () => port.find({ ...target, block }));
    if (found.kind !== "answered") return rejection("overloaded", { where: "pool" }, 1);
    const { entry } = found.value;
    let owner = entry?.state === "owned" ? entry.owner : undefined;
    // One that drains may be empty by now: its own answer to the claim tells.
    if (owner === undefined || owner === host) {
      const deadline = this.#request.deadlineAt === undefined ? {} : { deadlineAt: this.#request.deadlineAt };
      const claimed = await this.#affinities.claimExactly({ owner: host, pool, leased, ...deadline }, block);
      if (claimed.kind === "claimed") return own;
      if (claimed.kind === "unsettled") return this.#inProgress();
      if (claimed.kind === "terminating")
        return rejection("address_not_in_pool", { address, pool: target.pool });
      if (claimed.kind === "other") owner = claimed.owner;
    }
    if (leased.policy.config.strictAffinity) {
      return rejection("address_outside_affinity", {
        address,
        block,
        ...(owner === undefined ? {} : { host: owner }),
      });
    }
    if (!(await this.#noteBorrowed(block, pool))) return rejection("overloaded", { where: "cluster" }, 1);
    return { pool, block, ordinal, isOwn: false };
  }

  /** A key that was answered before is answered again, whatever the policy says now. */
  async #replayOr(refusal: AssignRefusal, policy: CompiledPolicy): Promise<AssignResult | "policy_changed"> {
    const found = await this.#attempt.lookUp();
    if (found.kind === "absent") return { kind: "refused", refusal };
    if (found.kind !== "listed") return await this.#finish(found, undefined, policy);
    const pool = policy.poolOf(this.#address);
    const block = found.blocks[0];
    if (pool === undefined || block === undefined) return { kind: "refused", refusal };
    this.#attempt.goToListed(block);
    const seat: Seat = { pool, block, isOwn: false, replayOnly: true };
    const replayed = await this.#attempt.take(seat, policy);
    return replayed.kind === "full"
      ? { kind: "refused", refusal }
      : await this.#finish(replayed, seat, policy);
  }

  async #finish(
    result: SeatResult,
    seat: Seat | undefined,
    policy: CompiledPolicy,
  ): Promise<AssignResult | "policy_changed"> {
    switch (result.kind) {
      case "refused":
        return (await this.#heldAtLimit(result.refusal, seat)) ?? result;
      case "policy_changed":
        return "policy_changed";
      case "listed":
        return await this.#finishListed(result.blocks, seat, policy);
      case "got": {
        const record = this.#attempt.got[0];
        invariant(record !== undefined, "an address was got");
        return {
          kind: "assigned",
          record,
          created: !this.#attempt.wasFound,
          replayed: this.#attempt.wasFound,
        };
      }
      case "taken":
        return this.#taken(result);
      case "full":
        return { kind: "refused", refusal: this.#inProgress() };
      case "lost":
        return await this.#lost(seat, result.owner, policy);
    }
  }

  /** The key was used before: the same body went to the same block. */
  async #finishListed(
    blocks: readonly string[],
    seat: Seat | undefined,
    policy: CompiledPolicy,
  ): Promise<AssignResult | "policy_changed"> {
    const block = blocks[0];
    if (seat === undefined || block === undefined) return { kind: "refused", refusal: this.#inProgress() };
    if (block !== seat.block) {
      // The same address was in a block of another size: of a pool that has gone.
      const left = await this.#attempt.leaveGone(block);
      const next = left.kind === "lost" ? await this.#attempt.take(seat, policy) : left;
      if (next.kind === "listed") return { kind: "refused", refusal: this.#inProgress() };
      return await this.#finish(next, seat, policy);
    }
    this.#attempt.goToListed(block);
    const again = await this.#attempt.take(seat, policy);
    if (again.kind === "listed") return { kind: "refused", refusal: this.#inProgress() };
    return await this.#finish(again, seat, policy);
  }

  /** A handle at its limit that holds this very address has what it asked for. */
  async #heldAtLimit(refusal: AssignRefusal, seat: Seat | undefined): Promise<AssignResult | undefined> {
    if (refusal.code !== "handle_limit_reached" || seat === undefined) return undefined;
    const { address, handle, attributes, deadlineAt } = this.#request;
    const port = () => this.#host.runtime.ports.block(seat.block);
    const policy = { reserved: [], cooldownMs: 0 };
    const question = { block: seat.block, policy, records: { handle }, bare: true };
    const answer = await again(this.#host, () => port().describe(question));
    const records = answer.kind === "answered" ? answer.value.records : [];
    const held = records.filter((record) => record.handle === handle && record.state === "allocated");
    const key = held.find((record) => record.address === address)?.key;
    const leased = await this.#host.runtime.policy.current(this.#host.runtime.now());
    if (key === undefined || leased === undefined) return undefined;
    // Handed out again, with a new touch: neither an undo nor the collector may take it now.
    const message = {
      block: seat.block,
      host: this.#request.host,
      handle,
      keys: [key],
      take: held.filter((record) => record.key === key).length,
      attributes,
      until: untilOf(this.#host, leased, deadlineAt),
      cooldownMs: leased.policy.config.ipCooldownSeconds * 1000,
    };
    const reused = await again(this.#host, () => port().reuse(message));
    if (reused.kind !== "answered" || reused.value.kind !== "reused") return undefined;
    const record = reused.value.records.find((one) => one.address === address);
    return record === undefined ? undefined : { kind: "assigned", record, created: false, replayed: false };
  }

  #taken(result: Extract<SeatResult, { kind: "taken" }>): AssignResult {
    const { address, handle } = this.#request;
    const { record, state, freeAt, final } = result;
    if (state === "allocated" && record?.handle === handle) {
      return { kind: "assigned", record, created: false, replayed: false };
    }
    if (!final) return { kind: "refused", refusal: this.#inProgress() };
    if (state === "cooling" && freeAt !== undefined) {
      const seconds = Math.max(1, Math.ceil((freeAt - this.#host.runtime.now()) / 1000));
      return { kind: "refused", refusal: rejection("address_cooling", { address, freeAt }, seconds) };
    }
    const holder =
      state === "allocated" && record !== undefined ? { handle: record.handle, host: record.host } : {};
    return { kind: "refused", refusal: rejection("address_taken", { address, state, ...holder }) };
  }

  async #lost(
    seat: Seat | undefined,
    owner: string | undefined,
    policy: CompiledPolicy,
  ): Promise<AssignResult> {
    const { address } = this.#request;
    if (seat?.isOwn === true) this.#affinities.lose(seat.block);
    else if (seat !== undefined && owner === undefined) return await this.#emptied(seat.block, policy);
    const block = seat?.block ?? "";
    const host = owner === undefined ? {} : { host: owner };
    return { kind: "refused", refusal: rejection("address_outside_affinity", { address, block, ...host }) };
  }

  /** A block without owner or tenant gives nothing: it can be claimed when its last address has cooled. */
  async #emptied(block: string, { config }: CompiledPolicy): Promise<AssignResult> {
    const { address } = this.#request;
    const cooldownMs = config.ipCooldownSeconds * 1000;
    const question = { block, policy: { reserved: [], cooldownMs }, records: "all", bare: true } as const;
    const answer = await again(this.#host, () => this.#host.runtime.ports.block(block).describe(question));
    const records = answer.kind === "answered" ? answer.value.records : [];
    const cooling = records.flatMap(({ state, freeAt }) => (state === "cooling" ? (freeAt ?? []) : []));
    if (cooling.length === 0) return { kind: "refused", refusal: this.#inProgress() };
    const freeAt = Math.max(...cooling);
    const seconds = Math.max(1, Math.ceil((freeAt - this.#host.runtime.now()) / 1000));
    return { kind: "refused", refusal: rejection("address_cooling", { address, freeAt }, seconds) };
  }

  async #noteBorrowed(block: string, { definition }: CompiledPool): Promise<boolean> {
    const { memory, store } = this.#host;
    if (memory.borrowed.has(block)) return true;
    if (!(await this.#enrol())) return false;
    store.transaction(() => saveBorrowed(store, block, definition.name, definition.incarnation));
    memory.borrowed.add(block);
    return true;
  }

  #inProgress(): Rejection<"in_progress"> {
    const { host, handle } = this.#request;
    return rejection("in_progress", { host, handle }, IN_PROGRESS_RETRY_AFTER_SECONDS);
  }
}
