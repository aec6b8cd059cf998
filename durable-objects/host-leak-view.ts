/**
 * What a Host tells of its suspicions and its audits; the sum of the last audit is kept for it in memory.
 * May import: core, rpc, storage. Rule: nothing is decided here.
 */
import { parseAddress } from "../src/core/address.ts";
import { leakCounts, leakView } from "../src/core/leak-answers.ts";
import { type Judged, leakTimes } from "../src/core/leak-policy.ts";
import { kindOf, type LeakSubject } from "../src/core/leak-subject.ts";
import type { TunnelView } from "../src/rpc/host.ts";
import type * as rpc from "../src/rpc/leaks.ts";
import { figuresOf, reportState } from "./host-audit-figures.ts";
import type { HostHoldings } from "./host-audit-holdings.ts";
import type { HostContext } from "./host-context.ts";
import type { HostEvidence } from "./host-evidence.ts";
import { type LeakRow, readLeaks, readReclaimed } from "./storage/host-leak-rows.ts";

/** Suspicions of one page. */
const PAGE_MAX = 1_000;
/** Blocks that are read for a view of the host, where no audit has read them yet. */
const READS_MAX = 64;

/** The times of the policy as last seen. */
export function timesOf({ runtime }: Pick<HostContext, "runtime">): ReturnType<typeof leakTimes> {
  return leakTimes(runtime.policy.peek()?.config ?? {});
}

export class HostLeakView {
  readonly #host: HostContext;
  readonly #evidence: HostEvidence;
  readonly #holdings: HostHoldings;
  /** When the last audit of the whole host ended; 0: none since the Host woke. */
  auditedAt = 0;
  judged: readonly Judged[] = [];
  isGone = false;
  lastError: { readonly at: number; readonly what: string } | undefined;
  /** Addresses in use that the last report listed and the host does not hold. */
  notAllocated: number | undefined;

  constructor(host: HostContext, evidence: HostEvidence, holdings: HostHoldings) {
    this.#host = host;
    this.#evidence = evidence;
    this.#holdings = holdings;
  }

  async leaks({
    host,
    after,
    limit,
  }: Parameters<rpc.HostLeakPort["leaks"]>[0]): ReturnType<rpc.HostLeakPort["leaks"]> {
    const { graceMs } = timesOf(this.#host);
    const rows = readLeaks(this.#host.store).toSorted((one, other) =>
      byAddress(one.suspicion.address, other.suspicion.address),
    );
    const left =
      after === undefined ? rows : rows.filter((row) => byAddress(row.suspicion.address, after) > 0);
    const page = left.slice(0, Math.min(limit, PAGE_MAX));
    const last = page.at(-1)?.suspicion.address;
    const leaks = page.map((row) => listed(row, host, graceMs));
    const report = this.report();
    return left.length > page.length && last !== undefined
      ? { leaks, report, next: last }
      : { leaks, report };
  }

  counts(): rpc.LeakCountsView {
    return leakCounts(readLeaks(this.#host.store).map(({ suspicion }) => suspicion));
  }

  report(): rpc.ReportStateView {
    const now = this.#host.runtime.now();
    return reportState(this.#evidence.last("report"), now, timesOf(this.#host).staleMs, this.notAllocated);
  }

  /** Tunnel addresses, as of the last reading of the blocks. */
  tunnels(): TunnelView[] {
    const subjects = this.#holdings.all().flatMap((holding) => holding.subjects);
    return subjects.filter((subject) => kindOf(subject) === "tunnel").map(tunnelOf);
  }

  figures(host: string): rpc.HostLeakFigures {
    const { runtime, store } = this.#host;
    const policy = runtime.policy.peek();
    return figuresOf({
      host,
      auditedAt: this.auditedAt,
      holdings: this.#holdings.all(),
      judged: this.judged,
      rows: readLeaks(store),
      report: this.report(),
      hasKubernetes: runtime.cluster !== undefined,
      reclaimed: readReclaimed(store),
      ...(policy === undefined
        ? {}
        : { pools: new Set(policy.pools.map(({ definition }) => definition.name)) }),
      isGone: this.isGone,
      ...(this.lastError === undefined ? {} : { lastError: this.lastError }),
    });
  }

  /** Reads blocks that no audit has read since the Host woke; what does not answer is left out. */
  async look(host: string): Promise<void> {
    const unread = this.#holdings.blocks().filter((block) => this.#holdings.get(block) === undefined);
    const cooldownMs = (this.#host.runtime.policy.peek()?.config.ipCooldownSeconds ?? 0) * 1000;
    await this.#holdings.read(host, unread.slice(0, READS_MAX), cooldownMs);
  }
}

const TUNNELS = ["ipip", "vxlan", "wireguard"];

/** What kind of tunnel it is: its type says, or its handle, as whoever made it named it. */
function tunnelOf({ address, handle, attributes }: LeakSubject): TunnelView {
  const name = (attributes.type ?? handle).toLowerCase();
  return { kind: TUNNELS.find((kind) => name.startsWith(kind)) ?? "other", address, handle };
}

function listed({ suspicion, subject, pool }: LeakRow, host: string, graceMs: number): rpc.ListedLeak {
  return {
    ...leakView(suspicion, graceMs),
    host,
    ...(pool === undefined ? {} : { pool }),
    attributes: subject.attributes,
    sequenceNumber: subject.sequenceNumber ?? subject.touch,
  };
}

function byAddress(one: string, other: string): number {
  const [left, right] = [parseAddress(one), parseAddress(other)];
  if (!left.ok || !right.ok) return one < other ? -1 : one > other ? 1 : 0;
  const [a, b] = [left.value, right.value];
  if (a.family !== b.family) return a.family - b.family;
  return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}
