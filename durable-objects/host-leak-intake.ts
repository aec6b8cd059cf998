/**
 * Takes evidence in: which life of the host it is of, whether it is new, and what it contradicts.
 * May import: core, rpc, storage. Rule: one transaction; what is accepted is stored before it is looked at.
 */
import { type Rejection, rejection } from "../src/core/errors.ts";
import { leakTimes } from "../src/core/leak-policy.ts";
import { countOfAttachments, markOfReport, orderOfReport } from "../src/core/leak-report.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import type { AttachmentsRequest, WorkloadReport } from "../src/rpc/leaks.ts";
import type { HostContext } from "./host-context.ts";
import { evidenceOf, type HostEvidence, uncontradicted } from "./host-evidence.ts";
import { registrationAfter } from "./host-registration.ts";
import { type Place, readLeaks, saveLeaks } from "./storage/host-leak-rows.ts";
import { type Registration, readRegistration, saveRegistration } from "./storage/host-rows.ts";

type Refusal = Rejection<"host_unknown" | "report_out_of_order" | "incarnation_conflict">;

/** What was taken in. `generation`: the life of the host that it is of. */
export interface Taken {
  readonly generation: number;
}

export class HostIntake {
  readonly #host: HostContext;
  readonly #evidence: HostEvidence;

  constructor(host: HostContext, evidence: HostEvidence) {
    this.#host = host;
    this.#evidence = evidence;
  }

  /** Takes a report in. One that was taken in before is accepted again and changes nothing. */
  report(request: WorkloadReport): Result<Taken, Refusal> {
    const { host, sequence, ageMs, complete, workloads } = request;
    return this.#transaction<Taken, Refusal>((now) => {
      const before = readRegistration(this.#host.store);
      if (before === undefined || before.gone?.isOver === true)
        return { answer: err(rejection("host_unknown", { host })) };
      const registration = registrationOfReport(before, request, now);
      if (registration === undefined) return { answer: err(rejection("incarnation_conflict", { host })) };
      const { generation } = registration;
      const last = this.#evidence.last("report");
      const order = orderOfReport(last, { generation, sequence });
      const isRepeated = order === "repeated" && this.#evidence.isNewest("report", complete, workloads);
      if (isRepeated) return { answer: ok({ generation }) };
      if (order === "older_incarnation") return { answer: err(rejection("incarnation_conflict", { host })) };
      // Two reports of one number that say different things: one of them would be lost without a word.
      if (order === "out_of_order" || order === "repeated") {
        const sequenceNumber = last?.sequence ?? sequence;
        return { answer: err(rejection("report_out_of_order", { host, sequenceNumber })) };
      }
      if (registration !== before) saveRegistration(this.#host.store, registration);
      const { takenAt } = markOfReport({ generation, sequence }, now, ageMs);
      const adopt = this.#keep("report", { generation, sequence, takenAt, complete }, workloads);
      return { answer: ok({ generation }), adopt, registration };
    });
  }

  /** Takes in what a runtime calls valid: all of one network, as of now. A copy of a request changes nothing. */
  attachments(request: AttachmentsRequest): Result<Taken, Rejection<"host_unknown">> {
    const { host, network, validHandles, arrivedAt } = request;
    return this.#transaction<Taken, Rejection<"host_unknown">>((now) => {
      const registration = readRegistration(this.#host.store);
      if (registration === undefined || registration.gone?.isOver === true)
        return { answer: err(rejection("host_unknown", { host })) };
      const { generation } = registration;
      const source = `attachments:${network}` as const;
      const last = this.#evidence.last(source);
      const isSame = this.#evidence.isNewest(source, true, validHandles);
      const sequence = countOfAttachments(last && { ...last, isSame }, arrivedAt);
      if (sequence === undefined) return { answer: ok({ generation }) };
      const adopt = this.#keep(source, { generation, sequence, takenAt: now, complete: true }, validHandles);
      return { answer: ok({ generation }), adopt };
    });
  }

  /** Stores a piece, and clears at once what it calls alive: no later piece makes that unsaid. */
  #keep(
    source: Parameters<HostEvidence["keep"]>[0],
    place: Place,
    listed: Parameters<HostEvidence["keep"]>[2],
  ) {
    const { store, runtime } = this.#host;
    const rows = readLeaks(store);
    if (rows.length > 0) saveLeaks(store, uncontradicted(rows, evidenceOf(source, place, listed)));
    const { staleMs } = leakTimes(runtime.policy.peek()?.config ?? {});
    return this.#evidence.keep(source, place, listed, {
      isSuspecting: rows.length > 0,
      lagMs: staleMs / 2,
    });
  }

  #transaction<T, E>(
    decide: (now: number) => {
      readonly answer: Result<T, E>;
      readonly adopt?: () => void;
      readonly registration?: Registration;
    },
  ): Result<T, E> {
    const { store, memory, runtime } = this.#host;
    this.#evidence.clocked(runtime.now());
    const { answer, adopt, registration } = store.transaction(() => {
      this.#evidence.refresh();
      return decide(runtime.now());
    });
    adopt?.();
    if (registration !== undefined) memory.registration = registration;
    return answer;
  }
}

/**
 * The registration under which a report counts; undefined: it is of a machine that was replaced.
 * Why: one that was never heard of has taken the place of the last, as when it registers. A host that is
 * being removed comes back only by registering; who reports first meanwhile is noted as what it is, or a copy
 * of that report would take the place of whoever registers next.
 */
function registrationOfReport(
  before: Registration,
  { host, incarnation }: WorkloadReport,
  now: number,
): Registration | undefined {
  if (incarnation === before.incarnation) return before;
  if (before.gone !== undefined)
    return before.incarnation === undefined ? { ...before, incarnation } : undefined;
  const next = registrationAfter(before, { host, labels: before.labels, incarnation }, now);
  return next === "older" ? undefined : next;
}
