/**
 * Messages between objects, and patterns that pick some of them.
 * May import: types of the scheduler. Types and pure functions only.
 */
import type { Label } from "./scheduler.ts";

/** One end of a call: an object, or a client outside the deployment. */
export interface Endpoint {
  readonly className: string;
  readonly objectName: string;
}

export const CLIENT: Endpoint = { className: "client", objectName: "client" };

export type Outcome = { ok: true; value: unknown } | { ok: false; error: Error };

/** One message on its way: a request, or the answer to one. */
export interface Message {
  /** The call it belongs to; a duplicate carries the same number. */
  readonly call: number;
  readonly kind: "request" | "answer";
  /** Who sent this message: for an answer, the callee. */
  readonly from: Endpoint;
  readonly to: Endpoint;
  readonly method: string;
  /** The arguments of the call, in its answer too. */
  readonly args: readonly unknown[];
  /** In an answer: what the callee gave. */
  readonly outcome?: Outcome;
  /** The instance that a request was bound to when it was sent, if there was one. */
  readonly bound?: number;
  /** The instance that sent a request; a client's has none. */
  readonly sender?: number;
}

/**
 * Picks messages by their fields (all given ones must match), or by a function.
 * Shape: without `kind`, requests and answers alike; an answer's `from` is the callee.
 */
export type Match = MessagePattern | ((message: Message) => boolean);

export interface MessagePattern {
  kind?: Message["kind"];
  method?: string;
  /** Object name of the sender, or `client`. */
  from?: string;
  to?: string;
  fromClass?: string;
  toClass?: string;
}

export function matches(match: Match, message: Message): boolean {
  if (typeof match === "function") return match(message);
  return (
    same(match.kind, message.kind) &&
    same(match.method, message.method) &&
    same(match.from, message.from.objectName) &&
    same(match.to, message.to.objectName) &&
    same(match.fromClass, message.from.className) &&
    same(match.toClass, message.to.className)
  );
}

/** What a message is called in the trace, and what all of its route are called. */
export function labelOf(message: Message): Label {
  const arrow = message.kind === "request" ? "->" : "=>";
  const { from, to, method, call, outcome } = message;
  const route = `${from.objectName} ${arrow} ${to.objectName} ${method}`;
  return {
    sort: route,
    detail: () => {
      const end = outcome === undefined || outcome.ok ? "" : ` ! ${outcome.error.message}`;
      return `${message.kind} #${call} ${route}${end}`;
    },
  };
}

function same(wanted: string | undefined, found: string): boolean {
  return wanted === undefined || wanted === found;
}
