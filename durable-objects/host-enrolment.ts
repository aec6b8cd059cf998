/**
 * A host's place in Cluster's directory, its registration, and what either lets it have.
 * May import: core, rpc, platform, storage. Rule: the directory names a host before its first row of any kind.
 */
import { type Rejection, rejection } from "../src/core/errors.ts";
import { err, ok, type Result } from "../src/core/result.ts";
import type * as rpc from "../src/rpc/host.ts";
import { again, type HostContext } from "./host-context.ts";
import { registrationAfter } from "./host-registration.ts";
import { forgetLeft, type Registration, readRegistration, saveRegistration } from "./storage/host-rows.ts";

const NO_LABELS = {};
/** Removals that come between the steps of one registration. */
const ROUNDS_MAX = 3;

export class HostEnrolment {
  readonly #host: HostContext;
  /** As whom this object is called. */
  readonly #name: () => string | undefined;
  #isEnrolled = false;

  constructor(host: HostContext, name: () => string | undefined) {
    this.#host = host;
    this.#name = name;
  }

  /** The registration, unless nothing is left of it after a removal. */
  get registered(): Registration | undefined {
    const { registration } = this.#host.memory;
    return registration?.gone?.isOver === true ? undefined : registration;
  }

  /** Registers a host, or changes what it is registered with. */
  async register(
    request: rpc.RegisterRequest,
  ): Promise<
    Result<
      { readonly created: boolean; readonly registration: Registration },
      Rejection<"incarnation_conflict" | "policy_unavailable">
    >
  > {
    const { memory, runtime } = this.#host;
    const { host, labels, author } = request;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const before = memory.registration;
      const created = this.registered === undefined;
      const next = registrationAfter(before, request, runtime.now());
      if (next === "older") return err(rejection("incarnation_conflict", { host }));
      const known = { host, registered: true, labels, revision: next.revision };
      const entry = author === undefined ? known : { ...known, author };
      const told = await again(this.#host, () => runtime.ports.cluster().enrol(entry));
      if (told.kind !== "answered") break;
      this.#isEnrolled = true;
      // The host may have been removed meanwhile: then it registers after that.
      if (this.#keep(before, next)) return ok({ created, registration: next });
    }
    return err(rejection("policy_unavailable", {}, 1));
  }

  /** The labels under which a host may get addresses. */
  mayAllocate(host: string): Result<Registration["labels"], Rejection<"host_unknown" | "host_removing">> {
    if (this.#host.memory.isRemoving) return err(rejection("host_removing", { host }));
    const labels = this.labels(host);
    return labels === undefined ? err(rejection("host_unknown", { host })) : ok(labels);
  }

  /** Labels of a registered host; a virtual owner needs no registration. */
  labels(host: string): Readonly<Record<string, string>> | undefined {
    return this.registered?.labels ?? (isVirtual(host) ? NO_LABELS : undefined);
  }

  /** Enters the host in Cluster's directory: before its first row of any kind. */
  async enrol(): Promise<boolean> {
    if (this.#isEnrolled) return true;
    const { memory, runtime } = this.#host;
    const name = this.#name();
    const isKnown =
      memory.registration !== undefined || memory.affinities.size > 0 || memory.borrowed.size > 0;
    if (isKnown || name === undefined) {
      this.#isEnrolled = isKnown;
      return isKnown;
    }
    const entry = { host: name, registered: false, labels: {} };
    const told = await again(this.#host, () => runtime.ports.cluster().enrol(entry));
    this.#isEnrolled = told.kind === "answered";
    return this.#isEnrolled;
  }

  /** Stores a registration that follows from another one, if that one is still the last. */
  #keep(before: Registration | undefined, next: Registration): boolean {
    const { memory, store } = this.#host;
    if (next === before) return memory.registration === before;
    const isKept = store.transaction(() => {
      if (readRegistration(store)?.revision !== before?.revision) return false;
      saveRegistration(store, next);
      if (before?.gone !== undefined) forgetLeft(store);
      return true;
    });
    memory.registration = isKept ? next : readRegistration(store);
    return isKept;
  }
}

/** Whether a name is of an owner that is no machine, and registers nowhere. */
export function isVirtual(host: string): boolean {
  return host.startsWith("virtual:");
}
