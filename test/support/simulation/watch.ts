/**
 * The product's classes, watched: what each decision of a block was, judged by what was acknowledged.
 * May import: the simulation, src, durable-objects. Rule: watching changes no decision and no turn.
 */
import { BlockObject } from "../../../durable-objects/block.ts";
import { HandleIndexObject } from "../../../durable-objects/handle-index.ts";
import { HostObject } from "../../../durable-objects/host.ts";
import { PoolObject } from "../../../durable-objects/pool.ts";
import type * as block from "../../../src/rpc/block.ts";
import type * as index from "../../../src/rpc/handle-index.ts";
import type * as host from "../../../src/rpc/host.ts";
import type * as leaks from "../../../src/rpc/leaks.ts";
import type * as pool from "../../../src/rpc/pool.ts";
import type { ObjectClass } from "./objects.ts";
import { CLASSES } from "./scene.ts";

/** What every later allocation must obey; absent while a change of it is under way. */
export interface Obeyed {
  strict?: boolean | undefined;
  cooldownMs?: number | undefined;
  disabled?: boolean | undefined;
  reserved?: string | undefined;
}

/** Told of what the collector hears and does. */
export interface CollectorEars {
  arrives(request: leaks.WorkloadReport | leaks.AttachmentsRequest): void;
  removes(host: string): void;
  /** Told before a block decides on an order; what is returned is told of its answers. */
  frees(request: leaks.ReleaseLeakedRequest): (answers: leaks.ReleaseLeakedAnswer["answers"]) => void;
}

/** Counts of what was reached, and what was seen to be wrong. */
export class Watch {
  readonly reached = new Map<string, number>();
  readonly findings: string[] = [];
  ears: CollectorEars | undefined;
  readonly obeyed: Obeyed = { strict: false, cooldownMs: 0, disabled: false };
  readonly #releasedAt = new Map<string, number>();
  readonly #created = new Set<string>();
  readonly #epochsAtBlocks = new Set<string>();

  count(what: string, times = 1): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + times);
  }

  allocated(item: block.AllocateItem, outcome: block.AllocateOutcome): void {
    const isFinal = "final" in outcome ? (outcome.final ? " final" : " not final") : "";
    this.count(`block ${outcome.kind}${isFinal}`);
    if (outcome.kind === "failed") this.findings.push(`defect: ${outcome.message}`);
    if (outcome.kind !== "created") return;
    const { strict, cooldownMs, disabled, reserved } = this.obeyed;
    for (const { address, blockOwner, host, allocatedAt, sequenceNumber } of outcome.records) {
      // A late copy of a message is answered as the first was; nothing is created then.
      const creation = `${address} ${sequenceNumber} ${allocatedAt}`;
      if (this.#created.has(creation)) continue;
      this.#created.add(creation);
      const what = `${address} for ${host} at ${allocatedAt}`;
      if (strict === true && blockOwner !== host)
        this.findings.push(`I8: ${what} in the block of ${blockOwner}`);
      if (address === reserved && item.ordinal === undefined) this.findings.push(`I7: ${what} is reserved`);
      if (disabled === true && address.startsWith("10.0.0."))
        this.findings.push(`I7: ${what}, the pool is disabled`);
      const freeAt = (this.#releasedAt.get(address) ?? 0) + (cooldownMs ?? 0);
      if (cooldownMs !== undefined && allocatedAt < freeAt)
        this.findings.push(`I12: ${what}, cools until ${freeAt}`);
    }
  }

  released(address: string, at: number): void {
    this.#releasedAt.set(address, at);
  }

  epochAtBlock(name: string, epoch: number): void {
    this.#epochsAtBlocks.add(`${name} ${epoch}`);
  }

  givenBack(name: string, epoch: number): void {
    if (!this.#epochsAtBlocks.has(`${name} ${epoch}`))
      this.findings.push(`directory: ${name} given back at epoch ${epoch} without the block's word`);
  }
}

/** Classes of one deployment whose decisions are told to the watch. */
export function watched(watch: Watch): Record<string, ObjectClass> {
  class WatchedBlock extends BlockObject {
    override async allocate(request: block.AllocateRequest) {
      const answer = await super.allocate(request);
      for (const [at, outcome] of answer.outcomes.entries()) {
        watch.allocated(request.items[at] as block.AllocateItem, outcome);
      }
      return answer;
    }

    override async claim(request: block.ClaimRequest) {
      watch.epochAtBlock(request.block, request.epoch);
      const answer = await super.claim(request);
      watch.count(`claim ${answer.kind}`);
      return answer;
    }

    override async releaseAffinity(request: block.ReleaseAffinityRequest) {
      watch.epochAtBlock(request.block, request.epoch);
      // Without drains and removals only an offer beyond the cap is given back whatever the block holds.
      if (!request.mustBeEmpty) watch.count("offer declined");
      const answer = await super.releaseAffinity(request);
      watch.count(`affinity ${answer.kind}`);
      return answer;
    }

    override async undo(request: block.BlockTarget & block.UndoItem) {
      const answer = await super.undo(request);
      watch.count(answer.undone.length > 0 ? "undone" : "undo without effect");
      for (const address of answer.undone) {
        // What was undone is as it was before: it does not cool for the sake of this key.
        const policy = { reserved: [], cooldownMs: 60_000 };
        const { records } = await super.describe({ block: request.block, policy, records: { address } });
        if (records.some(({ handle, key }) => handle === request.handle && key === request.key))
          watch.findings.push(
            `I15: ${address} cools for ${request.handle} with ${request.key}, which was undone`,
          );
      }
      return answer;
    }

    override async releaseLeaked(request: leaks.ReleaseLeakedRequest) {
      const tell = watch.ears?.frees(request);
      const answer = await super.releaseLeaked(request);
      tell?.(answer.answers);
      for (const [at, outcome] of answer.answers.entries()) {
        watch.count(`leak ${outcome}`);
        const address = request.items[at]?.address ?? "";
        const policy = { reserved: [], cooldownMs: request.cooldownMs };
        const { records } = await super.describe({ block: request.block, policy, records: { address } });
        const [record] = records;
        if (outcome === "released") watch.released(address, record?.releasedAt ?? 0);
      }
      return answer;
    }

    override async releaseHandle(request: block.ReleaseHandleRequest) {
      const answer = await super.releaseHandle(request);
      this.#released(answer);
      return answer;
    }

    override async releaseHandles(request: Parameters<block.BlockPort["releaseHandles"]>[0]) {
      const told = await super.releaseHandles(request);
      for (const answer of told.answers) this.#released(answer);
      return told;
    }

    #released(answer: block.ReleaseHandleAnswer): void {
      for (const { outcome, records } of answer.keys) {
        watch.count(`release ${outcome}`);
        for (const { address, releasedAt } of records) watch.released(address, releasedAt ?? 0);
      }
    }

    override async releaseAddresses(request: block.ReleaseAddressesRequest) {
      const answer = await super.releaseAddresses(request);
      for (const outcome of answer.outcomes) {
        watch.count(`address ${outcome.kind === "rejected" ? "stale" : outcome.kind}`);
        if (outcome.kind === "released") watch.released(outcome.address, outcome.freeAt - request.cooldownMs);
      }
      return answer;
    }
  }

  class WatchedIndex extends HandleIndexObject {
    override async reserve(request: { items: readonly index.ReserveItem[] }) {
      const answer = await super.reserve(request);
      for (const { kind } of answer.outcomes) watch.count(`index ${kind}`);
      return answer;
    }

    override async move(request: index.MoveItem) {
      const answer = await super.move(request);
      watch.count(`move ${answer.kind}`);
      return answer;
    }
  }

  class WatchedPool extends PoolObject {
    override async claim(request: pool.PoolClaimRequest) {
      const answer = await super.claim(request);
      watch.count(`pool ${answer.kind}`);
      return answer;
    }

    override async release(request: Parameters<pool.PoolPort["release"]>[0]) {
      watch.givenBack(request.block, request.epoch);
      return await super.release(request);
    }

    override async retired(request: Parameters<pool.PoolPort["retired"]>[0]) {
      const answer = await super.retired(request);
      watch.count(`retired ${answer.applied ? "applied" : "not applied"}`);
      return answer;
    }
  }

  class WatchedHost extends HostObject {
    override async reportWorkloads(request: leaks.WorkloadReport) {
      watch.ears?.arrives(request);
      return await super.reportWorkloads(request);
    }

    override async collectAttachments(request: leaks.AttachmentsRequest) {
      watch.ears?.arrives(request);
      return await super.collectAttachments(request);
    }

    override async remove(request: Parameters<host.HostPort["remove"]>[0]) {
      watch.ears?.removes(request.host);
      return await super.remove(request);
    }
  }

  return {
    ...CLASSES,
    BlockObject: WatchedBlock,
    HandleIndexObject: WatchedIndex,
    HostObject: WatchedHost,
    PoolObject: WatchedPool,
  };
}
