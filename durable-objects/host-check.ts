/**
 * What a check asks of a Host: one row settled under a fresh epoch, a block noted as borrowed.
 * May import: core, rpc, platform, storage. Rule: the same claim and release as ever, nothing of its own.
 */
import type { HostPort, SettleBlockAnswer } from "../src/rpc/host.ts";
import type { HostAffinities } from "./host-affinities.ts";
import { again, type HostContext } from "./host-context.ts";
import { saveBorrowed } from "./storage/host-rows.ts";

type SettleRequest = Parameters<HostPort["settleBlock"]>[0];

export class HostCheck {
  readonly #host: HostContext;
  readonly #affinities: HostAffinities;
  readonly #enrol: () => Promise<boolean>;

  constructor(host: HostContext, affinities: HostAffinities, enrol: () => Promise<boolean>) {
    this.#host = host;
    this.#affinities = affinities;
    this.#enrol = enrol;
  }

  /**
   * Ends what was begun with a block, takes back a claim to it that the block denies, or takes over the
   * row that the block says is this Host's.
   */
  async settle({ host, block, pool: name, incarnation }: SettleRequest): Promise<SettleBlockAnswer["kind"]> {
    const { memory, runtime } = this.#host;
    const leased = await runtime.policy.current(runtime.now());
    if (leased === undefined) return "unsettled";
    const known = memory.affinities.get(block);
    const isOpen = known !== undefined && known.state !== "confirmed";
    const owner = isOpen ? "other" : await this.#owner(host, block);
    if (owner === undefined) return "unsettled";
    const row = memory.affinities.get(block);
    if (row !== undefined && row.state !== "confirmed") {
      return (await this.#affinities.recover(row, host, leased)).kind === "unsettled"
        ? "unsettled"
        : "settled";
    }
    // A word that comes late must not take what the host has given back meanwhile, past its cap (I10).
    if (row === undefined && owner !== "own") return "settled";
    const pool = leased.policy.pools.find(({ definition }) => {
      return definition.name === name && definition.incarnation === incarnation;
    });
    if (pool === undefined) return "unsettled";
    const claimed = await this.#affinities.claimExactly({ owner: host, pool, leased }, block);
    return claimed.kind === "unsettled" ? "unsettled" : "settled";
  }

  /** Before the first audit of the host it knows where its addresses are. */
  async noteBorrowed({
    block,
    pool,
    incarnation,
  }: Parameters<HostPort["noteBorrowed"]>[0]): Promise<boolean> {
    const { memory, store } = this.#host;
    if (!(await this.#enrol())) return false;
    store.transaction(() => saveBorrowed(store, block, pool, incarnation));
    memory.borrowed.add(block);
    return true;
  }

  /** Says once more what the host is, by its own registration. */
  async enrolAgain(host: string): Promise<boolean> {
    const { memory, runtime } = this.#host;
    const { registration } = memory;
    const isRegistered = registration !== undefined && registration.gone?.isOver !== true;
    const entry = {
      host,
      registered: isRegistered,
      removing: isRegistered && registration.gone !== undefined,
      labels: isRegistered ? registration.labels : {},
      revision: registration?.revision ?? 0,
    };
    const told = await again(this.#host, () => runtime.ports.cluster().enrol(entry));
    return told.kind === "answered";
  }

  /**
   * Whose the block is by its own word; undefined: it did not answer. A confirmed row whose block names
   * another owner is none.
   */
  async #owner(host: string, block: string): Promise<"own" | "other" | undefined> {
    const { memory, runtime } = this.#host;
    const row = memory.affinities.get(block);
    const question = { block, cooldownMs: 0 };
    const said = await again(this.#host, () => runtime.ports.block(block).audit(question));
    if (said.kind !== "answered") return undefined;
    if (said.value.owner === host) return "own";
    const isSame = memory.affinities.get(block)?.epoch === row?.epoch;
    if (isSame && row?.state === "confirmed") this.#affinities.lose(block);
    return "other";
  }
}
