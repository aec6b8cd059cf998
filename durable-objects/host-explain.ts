/**
 * What a request would be answered, without doing it: the rules of the search over facts that are read.
 * May import: core, rpc, platform. Rule: nothing is reserved, claimed, touched or written, nor a hint changed.
 */
import { type Considered, type Family, type Rejection, rejection } from "../src/core/errors.ts";
import { foresee } from "../src/core/foresight.ts";
import { CONSIDERED_EXPLANATION_MAX } from "../src/core/limits.ts";
import { boundConsidered, shortageCode, toldPools } from "../src/core/placement.ts";
import type { CompiledPolicy } from "../src/core/policy.ts";
import { choosePools, type PoolChoice } from "../src/core/pool-choice.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import type {
  AllocateRefusal,
  ExplanationView,
  FamilyExplanationView,
  HostExplainRequest,
} from "../src/rpc/host.ts";
import { again, type HostContext } from "./host-context.ts";
import { HostForesight, Unheard } from "./host-foresight.ts";

type Labels = Readonly<Record<string, string>>;
type Code = AllocateRefusal["code"];

/** What one family would get. */
interface Verdict {
  readonly allocated: number;
  readonly code?: Code;
  /** Milliseconds since 1970. */
  readonly freeAt?: number;
  readonly considered: readonly Considered[];
}

export class HostExplain {
  readonly #host: HostContext;
  readonly #request: HostExplainRequest;
  /** Absent: the host is not registered, or was declared gone. */
  readonly #labels: Labels | undefined;

  constructor(host: HostContext, request: HostExplainRequest, labels: Labels | undefined) {
    this.#host = host;
    this.#request = request;
    this.#labels = labels;
  }

  /** Explains both families; `refusedWith` is why the host gets nothing, whatever it asks. */
  async run(
    refusedWith?: "host_unknown" | "host_removing",
  ): Promise<Result<ExplanationView, Rejection<"overloaded" | "policy_unavailable">>> {
    const { now, policy: source } = this.#host.runtime;
    const leased = await source.current(now());
    if (leased === undefined) return err(rejection("policy_unavailable", {}, 1));
    const { policy } = leased;
    try {
      const families = await Promise.all(
        this.#wishes().map(async ([family, count]) => {
          const verdict = await this.#family(policy, family, count, refusedWith);
          return this.#told(policy, family, count, verdict);
        }),
      );
      return ok({
        wouldSucceed: refusedWith === undefined && this.#wouldSucceed(families),
        policyRevision: policy.version,
        hostKnown: this.#labels !== undefined,
        hostLabels: this.#labels ?? {},
        strictAffinity: policy.config.strictAffinity,
        autoAllocateBlocks: policy.config.autoAllocateBlocks,
        families,
        asOf: now(),
      });
    } catch (failure) {
      if (failure instanceof Unheard) return err(rejection("overloaded", { where: failure.where }, 1));
      throw failure;
    }
  }

  /** All or none, unless partial; a refusal that is not about room refuses both families. */
  #wouldSucceed(families: readonly FamilyExplanationView[]): boolean {
    const isWhole = ({ code }: FamilyExplanationView) => code === undefined;
    if (families.every(isWhole)) return true;
    const isRefused = families.some(({ code }) => code !== undefined && WHOLE.has(code));
    return this.#request.partial && !isRefused && families.some(({ allocated }) => allocated > 0);
  }

  #wishes(): (readonly [Family, number])[] {
    const { ipv4, ipv6 } = this.#request;
    const both = [[4, ipv4?.count ?? 0] as const, [6, ipv6?.count ?? 0] as const];
    return both.filter(([, count]) => count > 0);
  }

  async #family(
    policy: CompiledPolicy,
    family: Family,
    count: number,
    refusedWith: Code | undefined,
  ): Promise<Verdict> {
    if (refusedWith !== undefined) return { allocated: 0, code: refusedWith, considered: [] };
    if (policy.config.maintenance) return { allocated: 0, code: "maintenance", considered: [] };
    const choice = choosePools(policy, this.#poolRequest(family));
    if (!choice.ok) {
      return { allocated: 0, code: choice.error.code, considered: choice.error.considered };
    }
    const limited = await this.#limit(family, count, choice.value);
    return limited ?? (await this.#search(policy, family, count, choice.value));
  }

  async #search(
    policy: CompiledPolicy,
    family: Family,
    count: number,
    { pools, considered }: PoolChoice,
  ): Promise<Verdict> {
    const reader = new HostForesight(this.#host, this.#request, policy, family);
    const { ground, blocks, roomElsewhere } = await reader.read(pools, count, this.#labels ?? {});
    const { allocated, end, owned } = foresee(ground);
    if (allocated >= count) return { allocated, considered: [...considered, ...blocks] };
    const told = toldPools(considered, this.#request.host, { ...end, owned, cap: ground.cap }, roomElsewhere);
    const code = shortageCode(end);
    const freeAt = end.nextFreeAt === undefined ? {} : { freeAt: end.nextFreeAt };
    return { allocated, code, ...freeAt, considered: [...told, ...blocks] };
  }

  /** What a limit per handle says; undefined: there is room under it, or there is none. */
  async #limit(family: Family, count: number, { considered }: PoolChoice): Promise<Verdict | undefined> {
    const { handle, maxPerHandle } = this.#request;
    if (maxPerHandle === undefined) return undefined;
    const held = await this.#held(handle, family);
    if (held === "not_final") return { allocated: 0, code: "in_progress", considered };
    if (held + count <= maxPerHandle) return undefined;
    if (held >= count) return { allocated: count, considered };
    return { allocated: 0, code: "handle_limit_reached", considered };
  }

  /** Addresses of the family that a handle holds, by the word of each block where it is listed. */
  async #held(handle: string, family: Family): Promise<number | "not_final"> {
    const { ports } = this.#host.runtime;
    const listed = await again(this.#host, () => ports.handleIndex(handle).list({ handle }));
    if (listed.kind !== "answered") throw new Unheard("index");
    const rows = listed.value.rows.filter((row) => row.family === family);
    const blocks = [...new Set(rows.map(({ block }) => block))];
    const answers = await Promise.all(
      blocks.map(async (block) => {
        const ofBlock = rows.filter((row) => row.block === block);
        const keys = ofBlock.map(({ key, until }) => ({ handle, key, finalAfter: until }));
        const said = await again(this.#host, () => ports.block(block).holds({ block, keys }));
        if (said.kind !== "answered") throw new Unheard("block");
        return said.value;
      }),
    );
    if (answers.some((answer) => answer.held.includes("not_final"))) return "not_final";
    return answers.flatMap(({ counts }) => counts).reduce((sum, one) => sum + one, 0);
  }

  #told(policy: CompiledPolicy, family: Family, count: number, verdict: Verdict): FamilyExplanationView {
    const { considered, omitted } = boundConsidered(verdict.considered, CONSIDERED_EXPLANATION_MAX);
    const rows = [...this.#host.memory.affinities.values()].filter((row) => row.family === family);
    const waitMs = verdict.freeAt === undefined ? undefined : verdict.freeAt - this.#host.runtime.now();
    return {
      family,
      requested: count,
      allocated: verdict.allocated,
      ...(verdict.code === undefined ? {} : { code: verdict.code }),
      ...(waitMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }),
      ownedBlocks: rows.length,
      blockCap: policy.cap(this.#request.maxBlocksPerHost),
      considered,
      consideredOmitted: omitted,
    };
  }

  #poolRequest(family: Family) {
    const { use, namespaceLabels, hostReserved, ipv4, ipv6 } = this.#request;
    const pools = family === 4 ? ipv4?.pools : ipv6?.pools;
    const ends = family === 4 ? hostReserved?.ipv4 : hostReserved?.ipv6;
    return { family, use, hostLabels: this.#labels ?? {}, namespaceLabels, pools, hostReserved: ends };
  }
}

/** Codes that refuse a request as a whole, partial or not. */
const WHOLE: ReadonlySet<Code> = new Set<Code>([
  "host_unknown",
  "host_removing",
  "maintenance",
  "handle_limit_reached",
  "in_progress",
]);
