/**
 * The release of what an audit proved leaked: members asked for, brakes asked, judged once more, released.
 * May import: core, rpc, storage. Rule: between the last judgement and the orders to blocks nobody is waited for.
 */
import { RELEASES_PER_RUN_MAX } from "../src/core/leak-brakes.ts";
import type { HoldReason } from "../src/core/leak-ledger.ts";
import type { HostAudit } from "../src/core/leak-policy.ts";
import {
  afterRelease,
  handlesToWeigh,
  planReleases,
  type ReleaseAnswer,
  type ReleaseItem,
  type Stop,
  withStandings,
} from "../src/core/leak-release.ts";
import { NO_POOL } from "../src/core/leak-status.ts";
import { reservedOrdinals } from "../src/core/placement.ts";
import type { CompiledPolicy } from "../src/core/policy.ts";
import type { WeighAnswer } from "../src/rpc/leaks.ts";
import type { HostHoldings } from "./host-audit-holdings.ts";
import { HandleMembers, type Members } from "./host-audit-members.ts";
import { cidrOf, type HostContext, once } from "./host-context.ts";
import { countReclaimed, readLeaks, saveLeaks } from "./storage/host-leak-rows.ts";

/** Handles whose members are listed in one run. */
const HANDLES_MAX = 100;

/** What a release needs of its audit. */
export interface Release {
  readonly name: string;
  readonly policy: CompiledPolicy;
  /** Judges again by what is known now, stores it, and notes why handles are held; inside a transaction. */
  readonly judged: (holds?: (audit: HostAudit) => ReadonlyMap<string, HoldReason>) => HostAudit;
  /** Asks the brakes. Undefined: nobody answered. */
  readonly weigh: (due: number, wanted: number) => Promise<WeighAnswer | undefined>;
}

export interface Released {
  readonly addresses: ReadonlySet<string>;
  readonly calls: number;
  /** Why not all went that could have gone; `unheard`: the brakes did not answer. */
  readonly stop?: Stop | "release_limit" | "unheard";
}

export class HostRelease {
  readonly #host: HostContext;
  readonly #holdings: HostHoldings;
  /** What was due when the brakes were asked last. */
  #told = 0;
  #runs = 0;

  constructor(host: HostContext, holdings: HostHoldings) {
    this.#host = host;
    this.#holdings = holdings;
  }

  /** Releases what may be released now, whole handles only (I11). */
  async run(release: Release, audit: HostAudit): Promise<Released> {
    this.#runs += 1;
    const leaked = leakedHandles(audit, readLeaks(this.#host.store), this.#runs);
    if (leaked.due === 0) this.#told = 0;
    if (leaked.due === 0 && leaked.ready.size === 0) return { addresses: new Set(), calls: 0 };
    const asked = new HandleMembers(this.#host, release.name);
    const blocks = new Map([...leaked.ready].slice(0, HANDLES_MAX));
    const listed = await asked.withForeign(await asked.list(blocks));
    const wish = planReleases(entriesOf(listed, audit), { addressesMax: RELEASES_PER_RUN_MAX });
    const wanted = wish.releases.reduce((sum, { items }) => sum + items.length, 0);
    const unlisted = leaked.due - countOf(leaked, listed.keys());
    const due = wish.due + Math.max(0, unlisted);
    const isNews = due > this.#told;
    if (wanted === 0 && !isNews && wish.held.size === 0) return { addresses: new Set(), calls: asked.calls };
    const grant = wanted > 0 || isNews ? await release.weigh(due, wanted) : { granted: 0 };
    if (grant !== undefined) this.#told = due;
    // Others may have seen life meanwhile, too.
    const members = wanted > 0 ? await asked.withForeign(listed) : listed;
    const items = this.#plan(release, members, grant);
    const answers = await this.#send(release.policy, items);
    const addresses = this.#note(items, answers);
    const free = [...leaked.ready.keys()].filter((handle) => leaked.counts.has(handle));
    const isLeft = free.length > HANDLES_MAX || [...wish.held.values()].includes("release_limit");
    const stop = grant === undefined ? "unheard" : (grant.stop ?? (isLeft ? "release_limit" : undefined));
    return {
      addresses,
      calls: asked.calls + new Set(items.map(({ block }) => block)).size + 1,
      ...(stop === undefined ? {} : { stop }),
    };
  }

  /** The last judgement, and what is to go by it. */
  #plan(release: Release, members: Members, grant: WeighAnswer | undefined): ReleaseItem[] {
    const addressesMax = grant === undefined ? 0 : Math.min(RELEASES_PER_RUN_MAX, grant.granted);
    const stop = grant?.stop === "release_limit" ? undefined : grant?.stop;
    const limit = { addressesMax, ...(stop === undefined ? {} : { stop }) };
    return this.#host.store.transaction(() => {
      let items: ReleaseItem[] = [];
      release.judged((audit) => {
        const plan = planReleases(entriesOf(members, audit), limit);
        items = plan.releases.flatMap((one) => one.items);
        return plan.held;
      });
      return items;
    });
  }

  /** One order for each block; what a block does not answer is looked at again by the next audit. */
  async #send(
    policy: CompiledPolicy,
    items: readonly ReleaseItem[],
  ): Promise<Map<string, { touch: number; answer: ReleaseAnswer }>> {
    const { runtime } = this.#host;
    const answers = new Map<string, { touch: number; answer: ReleaseAnswer }>();
    const byBlock = Map.groupBy(items, ({ block }) => block);
    const orders = [...byBlock].map(async ([block, ofBlock]) => {
      const order = {
        block,
        items: ofBlock.map(({ address, handle, touch }) => ({ address, handle, touch })),
        cooldownMs: policy.config.ipCooldownSeconds * 1000,
        until: runtime.now() + runtime.settings.untilMs,
        ...reservedIn(policy, block),
      };
      // Not repeated: the next audit judges anew.
      const said = await once(this.#host, () => runtime.ports.block(block).releaseLeaked(order));
      this.#holdings.touch(block);
      ofBlock.forEach(({ address, touch }, at) => {
        const answer = said.kind === "answered" ? said.value.answers[at] : undefined;
        answers.set(address, {
          touch,
          answer: answer === undefined || answer === "late" ? "unknown" : answer,
        });
      });
    });
    await Promise.all(orders);
    return answers;
  }

  /** Takes what blocks answered into the ledger and into the count of its pool, in one transaction. */
  #note(
    items: readonly ReleaseItem[],
    answers: ReadonlyMap<string, { touch: number; answer: ReleaseAnswer }>,
  ): Set<string> {
    const { store } = this.#host;
    const released = items.filter(({ address }) => answers.get(address)?.answer === "released");
    if (answers.size === 0) return new Set();
    store.transaction(() => {
      const rows = readLeaks(store);
      const kept = new Set(
        afterRelease(
          rows.map(({ suspicion }) => suspicion),
          answers,
        ),
      );
      saveLeaks(
        store,
        rows.filter(({ suspicion }) => kept.has(suspicion)),
      );
      const poolOf = (block: string) => this.#holdings.get(block)?.answer.pool?.name ?? NO_POOL;
      const byPool = Map.groupBy(released, ({ block }) => poolOf(block));
      for (const [pool, ofPool] of byPool) countReclaimed(store, pool, ofPool.length);
    });
    const addresses = new Set(released.map(({ address }) => address));
    for (const { block } of released) this.#holdings.released(block, addresses);
    return addresses;
  }
}

interface Leaked {
  /** Handles of which all that is here is ready, with the blocks where it is. */
  readonly ready: ReadonlyMap<string, ReadonlySet<string>>;
  /** Addresses here of handles that are leaked as far as known here, and that no other was seen to keep. */
  readonly due: number;
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Handles that are leaked as far as this host can tell, those that wait for longest first. Last come those
 * that others kept when they were listed before, other ones in each run, so that they keep nobody waiting.
 * Why: a breaker must hear of all that is due before the first of it goes, listed or not.
 */
function leakedHandles(audit: HostAudit, rows: ReturnType<typeof readLeaks>, run: number): Leaked {
  const kept = new Set(
    rows.flatMap(({ suspicion }) => (suspicion.held === "handle_partly_alive" ? suspicion.handle : [])),
  );
  const since = new Map(rows.map(({ suspicion }) => [suspicion.handle, suspicion.lastAbsentAt]));
  const byHandle = Map.groupBy([...audit.judged.values()], ({ subject }) => subject.handle);
  const ready = new Map<string, ReadonlySet<string>>();
  const counts = new Map<string, number>();
  const handles = handlesToWeigh(audit).toSorted((a, b) => (since.get(a) ?? 0) - (since.get(b) ?? 0));
  const others = handles.filter((handle) => kept.has(handle));
  const begin = others.length === 0 ? 0 : (run * HANDLES_MAX) % others.length;
  const free = handles.filter((handle) => !kept.has(handle));
  for (const handle of [...free, ...others.slice(begin), ...others.slice(0, begin)]) {
    const here = byHandle.get(handle) ?? [];
    if (here.some(({ standing }) => standing !== "ready" && standing !== "confirmed")) continue;
    const isReady = here.every(({ standing }) => standing === "ready");
    if (isReady) ready.set(handle, new Set(here.map(({ subject }) => subject.block)));
    if (!kept.has(handle)) counts.set(handle, here.length);
  }
  return { ready, counts, due: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

function countOf({ counts }: Leaked, handles: Iterable<string>): number {
  return [...handles].reduce((sum, handle) => sum + (counts.get(handle) ?? 0), 0);
}

function entriesOf(members: Members, audit: HostAudit) {
  return [...members].map(([handle, list]) => {
    return [handle, list === undefined ? undefined : withStandings(audit, list)] as const;
  });
}

function reservedIn(policy: CompiledPolicy, block: string) {
  const cidr = cidrOf(block);
  const pool = policy.poolOf({ family: cidr.family, value: cidr.base });
  return pool === undefined ? {} : { reserved: reservedOrdinals(policy, pool, cidr) };
}
