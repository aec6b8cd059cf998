/**
 * GET requests to a Kubernetes API server: address, credentials, time-outs, one retry, bounded answers.
 * May import: gc. Rule: what went wrong is a word of ours; no text of the server and no token is ever in it.
 */
import type { KubernetesLimits } from "./kubernetes-limits.ts";

/** The part of `fetch` that is used. */
export type Fetch = (
  url: string,
  init: {
    readonly headers: Record<string, string>;
    readonly redirect: "manual";
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

export interface KubernetesAccess {
  readonly fetch: Fetch;
  /** As `apiAddress` takes it. */
  readonly url: string;
  /** Asked before each look, since tokens are replaced while the service runs. */
  readonly token?: () => Promise<string | undefined>;
  now(): number;
  /** Resolves after that many milliseconds; may reject when the signal says so. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  readonly limits: KubernetesLimits;
}

/** What to ask. `need`: which permission it takes, in the words of RBAC. */
export interface Question {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly accept: string;
  readonly need: string;
}

/** `what`: a word for operators. `isRefused`: the server does not let us ask, so the next would fail as well. */
export type Reply =
  | { readonly kind: "answered"; readonly body: unknown }
  /** 404 or 410; the body tells of what. */
  | { readonly kind: "not_found" | "gone"; readonly body: unknown }
  | { readonly kind: "failed"; readonly what: string; readonly isRefused?: boolean };

export const TOO_LARGE = "answer too large";
export const BAD_REQUEST = "answered 400";

/**
 * Reads the address of an API server; a path in it stays in front of all paths.
 * Rejects: what is no address, plain http to another machine, and parts that would be lost.
 */
export function apiAddress(text: string): { readonly base: string } | { readonly fault: string } {
  if (!URL.canParse(text)) return { fault: "is no URL" };
  const { protocol, hostname, origin, pathname, search, hash, username, password } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return { fault: "must begin with https://" };
  if (protocol === "http:" && !isLoopback(hostname)) {
    return { fault: "must begin with https://, since the token would be readable on the way" };
  }
  if (`${search}${hash}${username}${password}` !== "") {
    return { fault: "must not hold a query, a fragment or credentials" };
  }
  return { base: `${origin}${pathname.replace(/\/+$/, "")}` };
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

interface Try {
  readonly reply: Reply;
  /** The failure may pass: how long to wait before a second try, ms. */
  readonly againAfterMs?: number;
}

/** The requests of one look: counted, and none is begun after its time. */
export class Look {
  readonly #access: KubernetesAccess;
  readonly #base: string;
  readonly #endsAt: number;
  #headers: Promise<Record<string, string> | undefined> | undefined;
  #requests = 0;

  constructor(access: KubernetesAccess, base: string) {
    this.#access = access;
    this.#base = base;
    this.#endsAt = access.now() + access.limits.lookMs;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Asks once, and once more where a failure may pass; never throws. */
  async get(question: Question): Promise<Reply> {
    const first = await this.#try(question);
    const wait = first.againAfterMs;
    const { sleep, now, limits } = this.#access;
    if (wait === undefined || wait > limits.retryAfterMs || now() + wait >= this.#endsAt) return first.reply;
    await sleep(wait);
    return (await this.#try(question)).reply;
  }

  async #try({ path, query = {}, accept, need }: Question): Promise<Try> {
    const { fetch, now, sleep, limits } = this.#access;
    const left = Math.min(limits.requestMs, this.#endsAt - now());
    if (left <= 0) return failed("the look took too long");
    const text = new URLSearchParams(query).toString();
    const url = `${this.#base}${path}${text === "" ? "" : `?${text}`}`;
    this.#headers ??= this.#makeHeaders().catch(() => undefined);
    const headers = await this.#headers;
    if (headers === undefined) return failed("the token cannot be read");
    const end = new AbortController();
    const request = async (): Promise<Try> => {
      this.#requests += 1;
      const init = { headers: { ...headers, accept }, redirect: "manual", signal: end.signal } as const;
      return await read(await fetch(url, init), need, limits, now());
    };
    const overdue = sleep(left, end.signal).then(
      () => failed("timed out", limits.retryMs),
      () => failed("timed out", limits.retryMs),
    );
    const asked = request().catch(() => failed("not reachable", limits.retryMs));
    try {
      return await Promise.race([asked, overdue]);
    } finally {
      end.abort();
    }
  }

  async #makeHeaders(): Promise<Record<string, string>> {
    const token = await this.#access.token?.();
    const credentials = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return { "user-agent": "edge-ipam", ...credentials };
  }
}

function failed(what: string, againAfterMs?: number): Try {
  return { reply: { kind: "failed", what }, ...(againAfterMs === undefined ? {} : { againAfterMs }) };
}

/** Takes an answer apart; an error in the middle of its body is thrown. */
async function read(response: Response, need: string, limits: KubernetesLimits, now: number): Promise<Try> {
  const { status } = response;
  if (status === 200 || status === 404 || status === 410) {
    const text = await textOf(response, limits.bytesMax);
    if (text === undefined) return failed(TOO_LARGE);
    const body = parsed(text);
    if (status !== 200) return { reply: { kind: status === 404 ? "not_found" : "gone", body } };
    return body === undefined ? failed("no valid JSON") : { reply: { kind: "answered", body } };
  }
  response.body?.cancel().catch(() => undefined);
  if (status === 401) return refused("unauthorized: the token is not accepted");
  if (status === 403) return refused(`forbidden: needs ${need}`);
  if (status !== 429 && status < 500) return failed(`answered ${status}`);
  const word = status === 429 ? "rate limited" : `answered ${status}`;
  return failed(word, retryAfter(response.headers.get("retry-after"), now) ?? limits.retryMs);
}

function refused(what: string): Try {
  return { reply: { kind: "failed", what, isRefused: true } };
}

/** The whole body, or undefined if it is longer than allowed. */
async function textOf(response: Response, bytesMax: number): Promise<string | undefined> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Seconds, or a date. Units: the answer in milliseconds. */
function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
