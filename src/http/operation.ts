/**
 * What one operation of the API is: its request, its answers, its refusals, its work.
 * May import: core, rpc and http. The API document and the running service come from the same value.
 */
import type { Code, FieldFault, Rejection } from "../core/errors.ts";
import type { Settings } from "../core/settings.ts";
import type { EndSignal } from "../platform/call.ts";
import type { PolicySource } from "../rpc/policy-source.ts";
import type { Ports } from "../rpc/ports.ts";
import type { Principal } from "./auth.ts";
import type { HeaderName, HeaderValues } from "./schemas/headers.ts";
import type { z } from "./schemas/zod.ts";

export type Method = "get" | "put" | "post" | "patch" | "delete";
export type Tag =
  | "system"
  | "config"
  | "pools"
  | "reservations"
  | "hosts"
  | "allocations"
  | "blocks"
  | "gc"
  | "operations";

/** Codes that any operation may answer without declaring them. */
export type CommonCode =
  | "invalid_request"
  | "role_insufficient"
  | "host_mismatch"
  | "overloaded"
  | "in_progress"
  | "outcome_unknown"
  | "policy_unavailable"
  | "deadline_exceeded"
  | "storage_unavailable"
  | "maintenance";

/** What an operation may use while it works. */
export interface Call {
  readonly ports: Ports;
  /** The policy under this isolate's own lease. */
  readonly policy: PolicySource;
  readonly settings: Settings;
  readonly principal: Principal;
  /** Whether anybody can be let in at all. */
  readonly isAuthConfigured: boolean;
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  /** From X-Request-Timeout-Ms, counted from arrival. Milliseconds since 1970. */
  readonly deadlineAt?: number;
  now(): number;
  /** Resolves after that many milliseconds; rejects when the signal says so. */
  sleep(ms: number, signal?: EndSignal): Promise<void>;
  /** Lets work of this request end that others wait for, when its client goes; absent: nothing stops it. */
  keep?(pending: Promise<unknown>): void;
  /** A name that no other call returns. */
  unique(): string;
}

type Fields = z.ZodObject;
type AnswerSchemas = { readonly [status: number]: z.ZodType | null };

/** A body with its unsound members, and where its faults are: for lists whose items are looked at one by one. */
export interface WholeBody {
  readonly body: Record<string, unknown>;
  readonly pointers: readonly string[];
}

/** The declared side of an operation. */
export interface Declaration {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly params?: Fields;
  readonly query?: Fields;
  readonly headers?: readonly HeaderName[];
  readonly body?: z.ZodType;
  /** Bytes that a body may have; absent: as many as any. */
  readonly bodyBytesMax?: number;
  /** The schema of each answer; null where it has no content. */
  readonly answers: AnswerSchemas;
  /** Codes of this operation beyond the common ones. */
  readonly refusals: readonly Code[];
  /** Statuses that the contract keeps free for codes to come. */
  readonly laterStatuses?: readonly number[];
  /** Whether it may change something: decides what a deadline means. */
  readonly mutates: boolean;
  /** Faults between fields, found in the members of the body that are sound; `faulty` names the others. */
  readonly review?: (
    body: Record<string, unknown>,
    faulty: ReadonlySet<string>,
    whole: WholeBody,
  ) => readonly FieldFault[];
}

/** A request after parsing: every value is of its schema's output. */
export interface Input<D extends Declaration> {
  readonly params: D["params"] extends Fields ? z.output<D["params"]> : unknown;
  readonly query: D["query"] extends Fields ? z.output<D["query"]> : unknown;
  readonly headers: HeaderValues;
  readonly body: D["body"] extends z.ZodType ? z.output<D["body"]> : unknown;
}

/** An answer that is no refusal. */
export type Answer<A extends AnswerSchemas> = {
  [S in keyof A & number]: A[S] extends z.ZodType
    ? {
        readonly status: S;
        readonly body: z.input<A[S]>;
        readonly revision?: number;
        readonly etag?: string;
        /** The body is text of this type, and no JSON. */
        readonly contentType?: string;
      }
    : { readonly status: S; readonly etag?: string };
}[keyof A & number];

/** Makes an answer; the revision becomes its ETag. */
export function reply<const S extends number, B>(
  status: S,
  body: B,
  revision?: number,
): { readonly status: S; readonly body: B; readonly revision?: number } {
  return revision === undefined ? { status, body } : { status, body, revision };
}

/** What the work of an operation ends in. */
export type Outcome<D extends Declaration> =
  | Answer<D["answers"]>
  | Rejection<D["refusals"][number] | CommonCode>;

/** An operation as the router and the document see it. */
export interface Operation<Id extends string = string> extends Declaration {
  readonly id: Id;
  run(input: never, call: Call): Promise<Answer<AnswerSchemas> | Rejection>;
}

/** Joins a declaration and its work; the types hold the work to what was declared. */
export function operation<const D extends Declaration>(
  declaration: D,
  run: (input: Input<NoInfer<D>>, call: Call) => Promise<Outcome<NoInfer<D>>>,
): D & { run: typeof run } {
  return { ...declaration, run };
}

/** Tells a refusal from an answer. */
export function isRejection<T extends object>(outcome: T | Rejection): outcome is Rejection & T {
  return "code" in outcome && "evidence" in outcome;
}
