/**
 * What a client of the load asks, as plain data: it crosses to the processes that send it.
 * May import: nothing. Rule: places in braces are all that differs between two requests of a plan.
 */

/**
 * One request. Places in `path` and `body`: `{n}` a number that no other request of the subject has, `{c}` the
 * client, `{h}` = n modulo `hosts`, `{m}` = n modulo `known`, `{ip}` = `addresses.first` + n modulo its count.
 */
export interface Step {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** For the bench's own entry point: what answers it; absent: the service, as it is deployed. */
  readonly variant?: string;
  /** Whether the allocations that are answered are given by this step, or freed by it. */
  readonly books?: "given" | "freed";
  /** Text that a good answer has. */
  readonly mustHold?: string;
  /** Text that a good answer has not. */
  readonly mustNotHold?: string;
}

/** What one operation of a client is: its steps one after the other. */
export interface Plan {
  readonly steps: readonly Step[];
  /** How many steps, from the first on, count for the time of an operation; absent: all. */
  readonly timed?: number;
  readonly hosts?: number;
  readonly known?: number;
  readonly addresses?: { readonly first: string; readonly count: number };
}

/** One part of a load: what one process sends. */
export interface Job {
  readonly url: string;
  readonly plan: Plan;
  readonly clients: number;
  /** The number of the first of these clients. */
  readonly firstClient: number;
  readonly seconds: number;
  /** The numbers that these clients use: from, from + stride, … */
  readonly from: number;
  readonly stride: number;
  /** Operations at most; absent: as many as the time allows. */
  readonly limit?: number;
}

/** What came of a job. Units: milliseconds. */
export interface Outcome {
  readonly times: Float64Array;
  readonly failed: number;
  /** What the first failed request was answered. */
  readonly fault?: string;
  readonly elapsedMs: number;
  readonly cpuMs: number;
  readonly books: Books;
}

/** Allocations that were acknowledged, as `address handle`; what one operation gave and freed is in neither list. */
export interface Books {
  readonly given: readonly string[];
  readonly freed: readonly string[];
}

/** Names what answers a request, in the bench's own entry point. */
export const VARIANT_HEADER = "Bench-Variant";

/** A request as bytes of HTTP/1.1, by number and client. */
export type Write = (n: number, client: number) => string;

/** Prepares a step, so that a request costs a few joined strings. */
export function compile(step: Step, plan: Plan, authority: string): Write {
  const path = filler(step.path, plan);
  const variant = step.variant === undefined ? "" : `${VARIANT_HEADER}: ${step.variant}\r\n`;
  const start = (n: number, client: number): string =>
    `${step.method} ${path(n, client)} HTTP/1.1\r\nHost: ${authority}\r\n${variant}`;
  if (step.body === undefined) return (n, client) => `${start(n, client)}\r\n`;
  const body = filler(step.body, plan);
  return (n, client) => {
    const text = body(n, client);
    const head = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`;
    return start(n, client) + head + text;
  };
}

function filler(template: string, plan: Plan): Write {
  const { hosts = 1, known = 1, addresses } = plan;
  const first = addresses === undefined ? 0 : numberOf(addresses.first);
  const places: Readonly<Record<string, (n: number, client: number) => number | string>> = {
    "{n}": (n) => n,
    "{c}": (_n, client) => client,
    "{h}": (n) => n % hosts,
    "{m}": (n) => n % known,
    "{ip}": (n) => addressOf(first + (n % (addresses?.count ?? 1))),
  };
  const parts = template.split(/(\{(?:n|c|h|m|ip)\})/);
  const fill = parts.map((part) => places[part] ?? (() => part));
  return (n, client) => {
    let text = "";
    for (const part of fill) text += part(n, client);
    return text;
  };
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** The IPv4 address of a number. */
export function addressOf(number: number): string {
  return [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
}
