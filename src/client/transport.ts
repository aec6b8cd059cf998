/**
 * One HTTP exchange: headers, time limit, and the check of the content type before anything is parsed.
 * May import: core, client. Never retries and never throws for what a server or network does.
 */

import { err, ok, type Result } from "../core/result.ts";
import { decodeProblem } from "./decode.ts";
import type { Problem } from "./wire.ts";

/** Where calls go and how long they may take. */
export interface Connection {
  /** Base URL without a trailing slash. */
  server: string;
  token?: string;
  /** What the server is told: 1..120000. */
  timeoutMs: number;
  fetch: typeof fetch;
}

export interface Exchange {
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  idempotencyKey?: string;
}

/** Why a call brought no value. `requestId` is the one sent, or the server's own where it answered. */
export type CallFailure = { readonly requestId: string } & (
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "timed_out"; readonly afterMs: number }
  | { readonly kind: "unexpected_answer"; readonly status: number; readonly reason: string }
);

/** Milliseconds that the server gets beyond its own limit, so that its answer is heard and not ours. */
const GRACE_MS = 1_000;
/** How much of an answer is read: far above any answer of the calls made here. */
const ANSWER_BYTES_MAX = 4 * 1_048_576;

/**
 * Sends one request and reads its answer.
 *
 * Rejects: each way in which a server, a proxy or the network can fail, as a CallFailure.
 * Why: an HTML page of a proxy is not a refusal of the service; only problem+json is.
 */
export async function exchange<T>(
  connection: Connection,
  request: Exchange,
  decode: (value: unknown) => T | undefined,
): Promise<Result<T, CallFailure>> {
  const requestId = crypto.randomUUID();
  const afterMs = connection.timeoutMs + GRACE_MS;
  try {
    const send = connection.fetch;
    const response = await send(`${connection.server}${request.path}`, {
      method: request.method,
      headers: headersOf(connection, request, requestId),
      redirect: "manual",
      signal: AbortSignal.timeout(afterMs),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    return await readAnswer(response, requestId, decode);
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === "TimeoutError") {
      return err({ kind: "timed_out", afterMs, requestId });
    }
    return err({ kind: "unreachable", reason: reasonOf(thrown), requestId });
  }
}

function headersOf(connection: Connection, request: Exchange, requestId: string): Record<string, string> {
  const headers: Record<string, string> = {
    Accept: "application/json, application/problem+json",
    "X-Request-Id": requestId,
    "X-Request-Timeout-Ms": String(connection.timeoutMs),
  };
  if (request.body !== undefined) headers["Content-Type"] = "application/json";
  if (connection.token !== undefined) headers.Authorization = `Bearer ${connection.token}`;
  if (request.idempotencyKey !== undefined) headers["Idempotency-Key"] = request.idempotencyKey;
  return headers;
}

async function readAnswer<T>(
  response: Response,
  sentId: string,
  decode: (value: unknown) => T | undefined,
): Promise<Result<T, CallFailure>> {
  const { status } = response;
  const requestId = response.headers.get("x-request-id") ?? sentId;
  const unexpected = (reason: string): Result<T, CallFailure> =>
    err({ kind: "unexpected_answer", status, reason, requestId });

  const mediaType = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const wanted = response.ok ? "application/json" : "application/problem+json";
  if (mediaType !== wanted) {
    await response.body?.cancel();
    return unexpected(`content type ${mediaType === "" ? "missing" : mediaType} instead of ${wanted}`);
  }
  const text = await readText(response);
  if (text === undefined) return unexpected(`more than ${ANSWER_BYTES_MAX} bytes`);
  const parsed = parseJson(text);
  if (!response.ok) {
    const problem = decodeProblem(parsed);
    if (problem === undefined) return unexpected("a problem without the agreed fields");
    return err({ kind: "refused", problem, requestId: problem.requestId });
  }
  const value = decode(parsed);
  return value === undefined ? unexpected("a body without the agreed fields") : ok(value);
}

/** Reads a body to its end; `undefined` if that is too far away. */
async function readText(response: Response): Promise<string | undefined> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The system's error code says more than fetch's own message, which is always the same. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown failure";
  const { cause } = thrown;
  if (typeof cause === "object" && cause !== null) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
    if ("message" in cause && typeof cause.message === "string") return cause.message;
  }
  return thrown.message;
}
