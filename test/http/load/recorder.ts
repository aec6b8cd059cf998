/**
 * Sends requests to the service and records them as a history, unknown outcomes included.
 * May import: the test client and the history. Rule: what is recorded is what a client saw, no more.
 */
import { IN_PROGRESS_RETRY_AFTER_SECONDS } from "../../../src/core/limits.ts";
import type { Ports } from "../../../src/rpc/ports.ts";
import type { Allocate, Operation, Read, Release, Tenure } from "../../support/history.ts";
import type { Request } from "../../support/history-lives.ts";
import {
  type Answer,
  type AnswerBody,
  AnswerLost,
  type HttpClient,
  type WireRelease,
} from "../../support/http-client.ts";

/** Codes of 503 after which nothing can have been done. */
const NOTHING_DONE = new Set(["deadline_exceeded"]);

/** How often a request is sent again that nobody took: the service is being started. */
const NOT_SENT_MAX = 100;

/** What a client wants of an allocation; `address` makes it an exact one. */
export interface Wish {
  readonly host: string;
  readonly handle: string;
  readonly key: string;
  readonly count?: number;
  readonly address?: string;
  /** Further fields of the body. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** What a client wants to be released; with an address, guarded by what else is there. */
export interface ReleaseWish {
  readonly handle?: string;
  readonly address?: string;
  readonly sequenceNumber?: number;
}

interface Sent {
  readonly invokedAt: number;
  readonly answeredAt: number;
  readonly outcome: "ok" | "refused" | "unknown";
  readonly code?: string;
  /** Absent: no answer came. */
  readonly status?: number;
  readonly body: AnswerBody;
}

/** An item of a batch's answer. */
interface BatchItem {
  readonly status?: number;
  readonly allocations?: readonly AnswerBody[];
  readonly problem?: AnswerBody;
  readonly replayed?: boolean;
}

/** What of a wish's further fields says how much is wanted. */
interface Families {
  readonly ipv4?: { readonly count?: number };
  readonly ipv6?: { readonly count?: number };
  readonly maxPerHandle?: number;
}

/** The body of a wish without its host. */
function itemOf({ handle, count = 1, address, more }: Wish): object {
  return { handle, ...(address === undefined ? { ipv4: { count } } : {}), ...more };
}

/** What an answer leaves known. */
function judge(status: number, { code = `${status}` }: AnswerBody): Pick<Sent, "outcome" | "code"> {
  if (status < 300) return { outcome: "ok" };
  return { outcome: status >= 500 && !NOTHING_DONE.has(code) ? "unknown" : "refused", code };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Reads one allocation of an answer or of a list. */
export function tenureOf(wire: AnswerBody): Tenure {
  const { address = "", block = "", handle = "", sequenceNumber = -1, allocatedAt = "" } = wire;
  return { address, block, handle, sequenceNumber, allocatedAt: Date.parse(allocatedAt) };
}

/** Repeats that do not wait for what an answer in progress says. */
const IMPATIENT_TRIES = 5;
const IN_PROGRESS_PAUSE_MS = IN_PROGRESS_RETRY_AFTER_SECONDS * 1_000 + 200;

export class Recorder {
  readonly history: Operation[] = [];
  /** How often each thing happened, e.g. `allocate ok`, `assign address_taken`. */
  readonly seen = new Map<string, number>();
  readonly #client: HttpClient;

  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** Allocates or assigns; an allocation is the same request again when wish and body are. */
  async allocate(wish: Wish): Promise<Allocate> {
    const isExact = wish.address !== undefined;
    const body = { host: wish.host, ...itemOf(wish) };
    const [method, path] = isExact ? ["PUT", `/v1/allocations/${wish.address}`] : ["POST", "/v1/allocations"];
    const sent = await this.#send(method, path, body, { "Idempotency-Key": wish.key });
    // An address that the handle held already, by another key, is told and not given.
    const isTold = isExact && sent.status === 200 && sent.body.replayed !== true;
    const granted = isTold ? [] : isExact ? [sent.body] : (sent.body.allocations ?? []);
    this.#count(isExact ? "assign" : "allocate", sent);
    return this.#allocated(wish, sent, granted);
  }

  /** Allocates for several handles of one host in one call; a repetition may be a call of its own. */
  async allocateBatch(host: string, wishes: readonly Wish[]): Promise<Allocate[]> {
    const items = wishes.map((wish) => ({ key: wish.key, ...itemOf(wish) }));
    const sent = await this.#send("POST", "/v1/allocation-batches", { host, items });
    this.#count("batch", sent);
    const results = (sent.body.results ?? []) as readonly BatchItem[];
    return wishes.map((wish, index) => {
      const { status, allocations = [], problem, replayed = false } = results[index] ?? {};
      if (sent.outcome !== "ok" || status === undefined) return this.#allocated(wish, sent, []);
      const body = { ...problem, replayed };
      const { answeredAt } = sent;
      const judged = judge(status, body);
      const code = judged.code === undefined ? {} : { code: judged.code };
      return this.#allocated(
        wish,
        { invokedAt: sent.invokedAt, answeredAt, outcome: judged.outcome, ...code, body },
        allocations,
      );
    });
  }

  #allocated(wish: Wish, sent: Sent, granted: readonly AnswerBody[]): Allocate {
    const { host, handle, key, count = 1, address, more } = wish;
    const got = sent.outcome === "ok" ? granted.map(tenureOf) : [];
    const { maxPerHandle: limit, ipv4 = { count }, ipv6 } = (more ?? {}) as Families;
    const recorded: Allocate = {
      ...this.#timed(sent),
      kind: "allocate",
      host,
      handle,
      key,
      body: JSON.stringify({ host, ...itemOf(wish), address }),
      got,
      wanted: address === undefined ? (ipv4.count ?? 0) + (ipv6?.count ?? 0) : 1,
      borrowed: granted.flatMap(({ borrowed, address: told = "" }) => (borrowed === true ? [told] : [])),
      ...(address === undefined ? {} : { isExact: true }),
      ...(limit === undefined ? {} : { limit }),
    };
    this.history.push(recorded);
    if (sent.body.replayed === true) this.note("replayed");
    if (granted.some(({ borrowed }) => borrowed === true)) this.note("borrowed");
    return recorded;
  }

  /** Repeats a request whose outcome is unknown, with its key, until it has one. */
  async allocateSurely(wish: Wish, tries = 40): Promise<Allocate> {
    for (let left = tries; ; left -= 1) {
      const answer = await this.allocate(wish);
      if (answer.outcome !== "unknown" || left <= 1) return answer;
      // Each repeat is one more attempt that must end first: whoever never waits as told waits for ever.
      const isTold = answer.code === "in_progress" && left < tries - IMPATIENT_TRIES;
      await pause(isTold ? IN_PROGRESS_PAUSE_MS : 150);
    }
  }

  async release(wish: ReleaseWish): Promise<Release> {
    const { handle, address, sequenceNumber } = wish;
    const guard = new URLSearchParams();
    if (address !== undefined && handle !== undefined) guard.set("handle", handle);
    if (sequenceNumber !== undefined) guard.set("sequenceNumber", `${sequenceNumber}`);
    const path = address === undefined ? `/v1/handles/${handle}` : `/v1/allocations/${address}?${guard}`;
    const sent = await this.#send("DELETE", path);
    this.#count(address === undefined ? "release handle" : "release address", sent);
    if (address === undefined) return this.#released(wish, sent, sent.body.results ?? []);
    const ofOne = { ...sent.body, address, outcome: sent.body.outcome ?? "rejected" };
    // A stale release is told so by a refusal: it is an answer, and a definite one.
    const isTold = sent.outcome === "refused";
    return this.#released(wish, isTold ? { ...sent, outcome: "ok" } : sent, [ofOne]);
  }

  /** Whoever held a handle is gone: from now on the collector may release it, at a time that nobody is told. */
  vanished(handle: string): void {
    const open = { invokedAt: now(), answeredAt: Number.POSITIVE_INFINITY, outcome: "unknown" } as const;
    this.history.push({ ...open, kind: "release", handle, results: [] });
    this.note("pod gone");
  }

  /** Releases several guarded addresses in one call; each is told by itself. */
  async releaseAddresses(wishes: readonly Required<ReleaseWish>[]): Promise<Release[]> {
    const sent = await this.#send("POST", "/v1/releases", { addresses: wishes });
    this.#count("release list", sent);
    // By place and not by address: a list may name an address twice, under two of its tenures.
    return wishes.map((wish, place) => {
      const told = sent.body.results?.[place];
      if (told !== undefined && told.address !== wish.address) {
        throw new Error(`a release list was answered out of order: ${wish.address} by ${told.address}`);
      }
      return this.#released(wish, sent, told === undefined ? [] : [told]);
    });
  }

  #released(wish: ReleaseWish, sent: Sent, results: readonly WireRelease[]): Release {
    const recorded: Release = {
      ...this.#timed(sent),
      kind: "release",
      ...wish,
      results: results.map(({ freeAt, ...result }) => ({
        ...result,
        ...(freeAt === undefined ? {} : { freeAt: Date.parse(freeAt) }),
      })),
    };
    this.history.push(recorded);
    return recorded;
  }

  /** Writes policy, a host or a pool; what was written is for the caller to know. */
  async write(
    what: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<Request & Pick<Sent, "body">> {
    const sent = await this.#send(method, path, body);
    this.#count(what, sent);
    return { ...this.#timed(sent), body: sent.body };
  }

  /** Ends an object of the service; only a service with the entry of tests does that. */
  async endObject(kind: keyof Ports, ...name: (string | number)[]): Promise<void> {
    const body = { kind, name, method: "endNow", request: {} };
    await this.#send("POST", "/test/call", body);
    this.note(`${kind} ended`);
  }

  async read(handle: string): Promise<Read> {
    const sent = await this.#send("GET", `/v1/handles/${handle}`);
    const items = (sent.body.items ?? []) as AnswerBody[];
    const held = items.filter(({ state }) => state === "allocated");
    const recorded: Read = { ...this.#timed(sent), kind: "read", handle, got: held.map(tenureOf) };
    this.history.push(recorded);
    this.#count("read", sent);
    return recorded;
  }

  async #send(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Sent> {
    let invokedAt = now();
    let answer: Answer | undefined;
    try {
      for (let left = NOT_SENT_MAX; answer === undefined; left -= 1) {
        invokedAt = now();
        answer = await this.#client.send(method, path, body, headers).catch(async (error: unknown) => {
          if (left === 0 || !(error instanceof AnswerLost && error.neverSent)) throw error;
          await pause(100);
          return undefined;
        });
      }
    } catch (error) {
      if (!(error instanceof AnswerLost)) throw error;
      // The service may still do it when it is told so late that nobody waits any more.
      return { invokedAt, answeredAt: Number.POSITIVE_INFINITY, outcome: "unknown", body: {} };
    }
    const { status, body: told } = answer;
    return { invokedAt, answeredAt: now(), ...judge(status, told), status, body: told };
  }

  /** An open outcome may still come true, so its end is not known either. */
  #timed({ invokedAt, answeredAt, outcome, code }: Sent) {
    const isOpen = outcome === "unknown";
    const open = isOpen ? { lostAt: now() } : {};
    const end = isOpen ? Number.POSITIVE_INFINITY : answeredAt;
    return { invokedAt, answeredAt: end, outcome, ...(code === undefined ? {} : { code }), ...open };
  }

  #count(what: string, { outcome, code }: Sent): void {
    this.note(`${what} ${outcome === "ok" ? "ok" : (code ?? "lost")}`);
  }

  /** Counts what happened. */
  note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((settle) => setTimeout(settle, ms));
}
