/**
 * The client that docs/clients.md shows: generated types and what no generator knows of the service.
 * May import: openapi-fetch, the generated types. Rule: only what the service itself said is parsed.
 */
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./types.ts";

export type Api = Client<paths>;
export type Problem = components["schemas"]["Problem"];

/** What openapi-fetch makes of an answer: the value of a 2xx, the problem of any other. */
export interface Answered<T> {
  readonly data?: T;
  readonly error?: Problem;
  readonly response: Response;
}

/** Something between here and the service answered, or half an answer came: nobody knows what was done. */
export class ForeignAnswer extends Error {}

/** The service said no, and why. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.status} ${problem.code}: ${problem.detail} Next: ${problem.hint ?? problem.type}`);
    this.problem = problem;
  }
}

export interface ApiOptions {
  readonly token?: string;
  /** How long the service may take; its own limit is 120,000. Unit: milliseconds. */
  readonly timeoutMs?: number;
}

/** Milliseconds that the service gets beyond its limit, so that its own answer is heard. */
const GRACE_MS = 1_000;

/**
 * Makes a client of one service.
 *
 * Rejects, at each call: `ForeignAnswer`; what fetch throws when the network or the time fails.
 */
export function apiOf(url: string, { token, timeoutMs = 30_000 }: ApiOptions = {}): Api {
  const api = createClient<paths>({
    baseUrl: url,
    redirect: "manual",
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
  });
  api.use({
    onRequest({ request }) {
      request.headers.set("X-Request-Timeout-Ms", String(timeoutMs));
      const tooLate = AbortSignal.timeout(timeoutMs + GRACE_MS);
      return new Request(request, { signal: AbortSignal.any([request.signal, tooLate]) });
    },
    onResponse({ response }) {
      const { status, headers } = response;
      if (status === 204 || status === 304) return;
      const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
      if (type === (response.ok ? "application/json" : "application/problem+json")) return;
      throw new ForeignAnswer(`status ${status} with content type ${type ?? "missing"}`);
    },
  });
  return api;
}

/** Takes the value out of an answer. Rejects: `Refused`. */
export async function accepted<T>(answer: Answered<T> | Promise<Answered<T>>): Promise<T> {
  const { data, error } = await answer;
  if (error !== undefined) throw new Refused(error);
  return data as T;
}

/**
 * Sends a request until it is answered for good, or refuses to wait any longer.
 *
 * Invariant: `send` sends the same request each time, with the same Idempotency-Key.
 * Rejects: what `send` rejects, when time is up.
 */
export async function settle<T>(send: () => Promise<Answered<T>>, withinMs: number): Promise<Answered<T>> {
  const until = performance.now() + withinMs;
  for (let tries = 0; ; tries += 1) {
    const met = await send().catch((error: unknown) => ({ thrown: error }));
    const waitMs = waitBeforeRepeat("thrown" in met ? undefined : met, tries);
    if (waitMs === undefined || performance.now() + waitMs > until) {
      if ("thrown" in met) throw met.thrown;
      return met;
    }
    await new Promise((wake) => setTimeout(wake, waitMs));
  }
}

/** Milliseconds after which repeating helps; `undefined` when it never does. `answer` is absent when none came. */
export function waitBeforeRepeat(answer: Answered<unknown> | undefined, tries: number): number | undefined {
  const backoffMs = Math.min(100 * 2 ** tries, 5_000) * (0.5 + Math.random());
  if (answer === undefined) return backoffMs;
  const { retry, retryAfterSeconds } = answer.error ?? {};
  switch (retry) {
    case "same_request":
      return Math.max(backoffMs, (retryAfterSeconds ?? 0) * 1_000);
    case "later":
      return retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000;
    default:
      // Done; or "no", "after_change", and words that are not invented yet.
      return undefined;
  }
}

/** Reads a list to its end: a page may be empty and not be the last; the last has no `nextCursor`. */
export async function* everyItem<T>(
  page: (from: { cursor?: string }) => Promise<Answered<{ items: T[]; nextCursor?: string }>>,
): AsyncGenerator<T> {
  let from: { cursor?: string } | undefined = {};
  while (from !== undefined) {
    const { items, nextCursor }: { items: T[]; nextCursor?: string } = await accepted(page(from));
    yield* items;
    from = nextCursor === undefined ? undefined : { cursor: nextCursor };
  }
}
