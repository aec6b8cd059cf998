/**
 * The way of one request: who, may they, is it well-formed, for which host, then the work.
 * May import: core, rpc and http. The order is the contract's and the same for every operation.
 */
import { type FieldFault, type Rejection, rejection } from "../core/errors.ts";
import { BODY_BYTES_MAX } from "../core/limits.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Authenticator, Principal } from "./auth.ts";
import { type Access, checkHost, checkRole } from "./authorization.ts";
import { faultsOf, pointerOf } from "./faults.ts";
import { type Call, isRejection, type Operation } from "./operation.ts";
import { problemResponse } from "./problem.ts";
import { readJsonObject } from "./request-body.ts";
import { type HeaderValues, readHeaders } from "./schemas/headers.ts";
import type { z } from "./schemas/zod.ts";

/** What the platform's failures are to a caller. */
export type PlatformFailure = Rejection<"overloaded" | "outcome_unknown" | "storage_unavailable">;

/** What every request of a deployment shares. */
export interface Deployment
  extends Pick<Call, "ports" | "policy" | "settings" | "now" | "sleep" | "keep" | "unique"> {
  readonly authenticator: Authenticator;
  /** Tells a failure of the platform from a defect; undefined: a defect. */
  classify(error: unknown): PlatformFailure | undefined;
  /** Records a defect under the request's id. */
  report(requestId: string, error: unknown): void;
}

/** One request on its way. */
export interface Arrival {
  readonly request: Request;
  readonly requestId: string;
  readonly arrivedAt: number;
  /** Path values, decoded. */
  readonly params: Record<string, string>;
}

interface Parsed {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: HeaderValues;
  readonly body: unknown;
}

/** Faults that one answer lists: more than a person reads, less than a hostile body can cause. */
const FAULTS_MAX = 256;
/** Milliseconds that an object gets to answer after its deadline, before its answer is not waited for. */
const DEADLINE_GRACE_MS = 50;
const NOTHING_FAULTY: ReadonlySet<string> = new Set();
const NOBODY: Principal = { subject: "anonymous", role: "reader", method: "none" };

/** Answers one request of one operation. */
export async function serve(
  operation: Operation,
  access: Access,
  arrival: Arrival,
  deployment: Deployment,
): Promise<Response> {
  const { request, requestId } = arrival;
  const known =
    access === "open" ? ok(NOBODY) : await deployment.authenticator.authenticate(authorizationOf(request));
  if (!known.ok) return problemResponse(known.error, requestId);
  const principal = known.value;
  const role = checkRole(access, principal);
  if (role !== undefined) return problemResponse(role, requestId);
  const parsed = await parse(operation, arrival);
  if (!parsed.ok) return problemResponse(parsed.error, requestId);
  const host = checkHost(access, principal, parsed.value);
  if (host !== undefined) return problemResponse(host, requestId);
  const { timeoutMs } = parsed.value.headers;
  const call: Call = {
    ...deployment,
    principal,
    isAuthConfigured: deployment.authenticator.isConfigured,
    requestId,
    arrivedAt: arrival.arrivedAt,
    ...(timeoutMs === undefined ? {} : { deadlineAt: arrival.arrivedAt + timeoutMs }),
  };
  return answer(operation, parsed.value, call, deployment);
}

function authorizationOf(request: Request): string | null {
  return request.headers.get("authorization");
}

/** Reads every part of a request, and lists all that is wrong with it at once. */
async function parse(operation: Operation, arrival: Arrival): Promise<Result<Parsed, Rejection>> {
  const faults: FieldFault[] = [];
  const params = check(operation.params, arrival.params, "path", faults);
  const query = check(operation.query, readQuery(operation, arrival.request, faults), "query", faults);
  const headers = readHeaders(arrival.request.headers, operation.headers ?? [], operation.method === "get");
  faults.push(...headers.faults);
  let body: unknown;
  if (operation.body !== undefined) {
    const read = await readJsonObject(arrival.request, operation.bodyBytesMax ?? BODY_BYTES_MAX);
    if (!read.ok) return read;
    const given = withoutSpace(read.value, faults);
    body = check(operation.body, given, "body", faults);
    faults.push(...review(operation, given, faults));
  }
  if (faults.length > 0) return err(rejection("invalid_request", { errors: faults.slice(0, FAULTS_MAX) }));
  return ok({ params, query, headers: headers.values, body });
}

function check(
  schema: z.ZodType | undefined,
  value: unknown,
  place: "path" | "query" | "body",
  faults: FieldFault[],
): unknown {
  if (schema === undefined) return {};
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  faults.push(...faultsOf(parsed.error, place));
  return {};
}

/** Finds faults between the members of a body that are sound by themselves. */
function review(
  operation: Operation,
  body: Record<string, unknown>,
  faults: readonly FieldFault[],
): readonly FieldFault[] {
  if (operation.review === undefined) return [];
  if (faults.length === 0) return operation.review(body, NOTHING_FAULTY, { body, pointers: [] });
  const first = new Set(faults.map(({ pointer }) => pointer?.split("/")[1]));
  const faulty = new Set(Object.keys(body).filter((key) => first.has(pointerOf([key]).slice(1))));
  const sound = Object.fromEntries(Object.entries(body).filter(([key]) => !faulty.has(key)));
  const pointers = faults.flatMap(({ pointer }) => pointer ?? []);
  return operation.review(sound, faulty, { body, pointers });
}

/** Reads the query; a name that is unknown or given twice is a fault. */
function readQuery(operation: Operation, request: Request, faults: FieldFault[]): Record<string, string> {
  if (!request.url.includes("?")) return {};
  const given: Record<string, string> = Object.create(null);
  const known = operation.query?.shape ?? {};
  for (const [name, value] of new URL(request.url).searchParams) {
    if (name in given) {
      faults.push({ parameter: name, code: "too_many", message: "is given more than once", limit: 1 });
    } else if (name === "space") {
      given[name] = value;
    } else if (Object.hasOwn(known, name)) {
      given[name] = value;
    } else {
      given[name] = value;
      faults.push({
        parameter: name,
        code: "unknown_parameter",
        message: "is not a parameter of this operation",
      });
    }
  }
  if (given.space !== undefined && given.space !== "default") {
    faults.push({ parameter: "space", code: "out_of_range", message: "must be default" });
  }
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(known, name)));
}

/** Takes the reserved name `space` out of a body; this version knows one address space. */
function withoutSpace(body: Record<string, unknown>, faults: FieldFault[]): Record<string, unknown> {
  if (!Object.hasOwn(body, "space")) return body;
  const { space, ...rest } = body;
  if (space !== "default")
    faults.push({ pointer: "/space", code: "out_of_range", message: "must be default" });
  return rest;
}

/** Does the work, and turns whatever comes of it into an answer. */
async function answer(
  operation: Operation,
  input: Parsed,
  call: Call,
  deployment: Deployment,
): Promise<Response> {
  const { requestId } = call;
  try {
    const outcome = await withinDeadline(operation, call, () => operation.run(input as never, call));
    if (isRejection(outcome)) {
      const config = call.policy.peek()?.config;
      const own = (input.body as { maxBlocksPerHost?: number } | undefined)?.maxBlocksPerHost;
      return problemResponse(outcome as Rejection, requestId, {
        ...(config === undefined ? {} : { strictAffinity: config.strictAffinity }),
        ...(own === undefined ? {} : { requestedMaxBlocksPerHost: own }),
      });
    }
    return success(outcome as Success, requestId);
  } catch (error) {
    const failure = deployment.classify(error);
    if (failure !== undefined) return problemResponse(failure, requestId);
    deployment.report(requestId, error);
    return problemResponse(rejection("internal_error", {}), requestId);
  }
}

interface Success {
  readonly status: number;
  readonly body?: unknown;
  readonly revision?: number;
  /** Where no revision stands for the whole answer. */
  readonly etag?: string;
  /** The body is text of this type; absent: it is written as JSON. */
  readonly contentType?: string;
}

function success(outcome: Success, requestId: string): Response {
  const headers: Record<string, string> = { "X-Request-Id": requestId, "Cache-Control": "no-store" };
  if (outcome.revision !== undefined) headers.ETag = `"${outcome.revision}"`;
  if (outcome.etag !== undefined) headers.ETag = `"${outcome.etag}"`;
  if (outcome.body === undefined) return new Response(null, { status: outcome.status, headers });
  headers["Content-Type"] = outcome.contentType ?? "application/json";
  if (outcome.contentType !== undefined) {
    return new Response(String(outcome.body), { status: outcome.status, headers });
  }
  return new Response(JSON.stringify(outcome.body), { status: outcome.status, headers });
}

/** Ends the wait at the caller's deadline: certain that nothing was done only where nothing could be. */
async function withinDeadline<T>(
  operation: Operation,
  call: Call,
  work: () => Promise<T>,
): Promise<T | Rejection<"deadline_exceeded" | "outcome_unknown">> {
  if (call.deadlineAt === undefined) return work();
  const left = call.deadlineAt - call.now();
  if (left <= 0) return rejection("deadline_exceeded", {});
  const answered = new AbortController();
  const over = call.sleep(left + DEADLINE_GRACE_MS, answered.signal).then(
    () => rejection(operation.mutates ? "outcome_unknown" : "deadline_exceeded", {}),
    // The signal ends the sleep; by then the work has won.
    () => rejection("deadline_exceeded", {}),
  );
  try {
    return await Promise.race([work(), over]);
  } finally {
    answered.abort();
  }
}
