/**
 * Suspected leaks, and addresses in use that nobody allocated, as the Hosts tell of them; a bounded part at a time.
 * May import: core, rpc. Rule: they are told and never mended: what is leaked the collector frees, by its proofs.
 */
import { parseAddress } from "../src/core/address.ts";
import type { CheckRequest, Finding } from "../src/core/check.ts";
import { blockOf, formatCidr } from "../src/core/cidr.ts";
import type { LeakState } from "../src/core/leak-answers.ts";
import type { HostLeakPort, ListedLeak, ReportStateView } from "../src/rpc/leaks.ts";
import type { CheckFacts } from "./check-facts.ts";
import { type CheckPlace, type Found, found, type StepResult, type Task } from "./check-task.ts";

/** Hosts of one step, leaks of one step, leaks of one question. */
const HOSTS_PER_STEP = 16;
const LEAKS_PER_STEP = 4_000;
const LEAKS_PER_CALL = 1_000;
/** How long a Host that did not answer has before it is asked again, ms. */
const AGAIN_MS = 10_000;

const PROBLEMS = {
  candidate: "leak_suspected",
  confirmed: "leak_confirmed",
  held: "leak_held",
} as const satisfies Record<LeakState, Finding["problem"]>;

type LeaksPlace = Extract<CheckPlace, { phase: "leaks" }>;

/** Some of what one Host told; `next`: the address after which it goes on. */
interface Told {
  readonly findings: readonly Found[];
  readonly next?: string;
}

export class CheckLeaks {
  readonly #facts: CheckFacts;
  readonly #request: CheckRequest;

  constructor(facts: CheckFacts, request: CheckRequest) {
    this.#facts = facts;
    this.#request = request;
  }

  /** Reads what the hosts after a place suspect. */
  async step(place: LeaksPlace): Promise<StepResult> {
    if (this.#request.isUpkeep === true) return { place: { phase: "over" }, findings: [], tasks: [] };
    const page = await this.#hosts(place.after);
    const findings: Found[] = [];
    const tasks: Task[] = [];
    let { after } = place;
    for (const { host } of page.hosts) {
      const begin = host === place.host ? place.address : undefined;
      const told = await this.#read(host, begin, LEAKS_PER_STEP - findings.length);
      if (told === undefined) tasks.push(askAgain(host));
      findings.push(...(told?.findings ?? []));
      const done = after === undefined ? {} : { after };
      if (told?.next !== undefined) {
        return { place: { phase: "leaks", ...done, host, address: told.next }, findings, tasks };
      }
      after = host;
    }
    const next: CheckPlace =
      page.next === undefined ? { phase: "over" } : { phase: "leaks", after: page.next };
    return { place: next, findings, tasks };
  }

  /** What a Host that did not answer tells by now; absent: it still does not. */
  async again(host: string): Promise<readonly Found[] | undefined> {
    return (await this.#read(host, undefined, LEAKS_PER_STEP))?.findings;
  }

  async #hosts(after: string | undefined): Promise<{
    readonly hosts: readonly { readonly host: string }[];
    readonly next?: string;
  }> {
    const { host } = this.#request;
    if (host !== undefined) return { hosts: [{ host }] };
    const place = after === undefined ? {} : { after };
    const question = { ...place, limit: HOSTS_PER_STEP };
    return await this.#facts.calls.must(() => this.#facts.runtime.ports.cluster().listHosts(question));
  }

  /** Reads pages of one Host until there are no more, or enough. */
  async #read(host: string, begin: string | undefined, enough: number): Promise<Told | undefined> {
    const port: HostLeakPort = this.#facts.runtime.ports.host(host);
    const findings: Found[] = [];
    let after = begin;
    for (let read = 0; read === 0 || after !== undefined; read += LEAKS_PER_CALL) {
      if (read > 0 && read >= enough) break;
      const place = after === undefined ? {} : { after };
      const question = { host, ...place, limit: LEAKS_PER_CALL };
      const said = await this.#facts.calls.maybe(() => port.leaks(question));
      if (said === undefined) return undefined;
      if (begin === undefined && read === 0) findings.push(...this.#unallocated(host, said.report));
      findings.push(...said.leaks.flatMap((leak) => this.#leak(leak)));
      after = said.next;
    }
    return after === undefined ? { findings } : { findings, next: after };
  }

  #leak({ address, handle, host, state, reason, pool: name }: ListedLeak): Found[] {
    const { pool: wanted } = this.#request;
    const parsed = parseAddress(address);
    const pool = parsed.ok ? this.#facts.policy.poolOf(parsed.value) : undefined;
    if (wanted !== undefined && wanted !== (name ?? pool?.definition.name)) return [];
    const isPlaced = parsed.ok && pool !== undefined;
    const block = isPlaced ? formatCidr(blockOf(parsed.value, pool.definition.blockSize)) : undefined;
    const where = { address, handle, host, ...(block === undefined ? {} : { block }) };
    return [found({ problem: PROBLEMS[state], ...where, other: reason })];
  }

  /** What an old report said is said of then. */
  #unallocated(host: string, report: ReportStateView | undefined): Found[] {
    const { state, addressesNotAllocated: count = 0 } = report ?? {};
    if (this.#request.pool !== undefined || state !== "fresh" || count === 0) return [];
    return [found({ problem: "used_not_allocated", host, other: String(count) })];
  }
}

function askAgain(host: string): Task {
  return { name: `leaks ${host}`, dueInMs: AGAIN_MS, task: { kind: "leaks", host, looks: 0 } };
}
