/**
 * What a test may ask of the test entry: counters, clock, faults, objects. May import: rpc types.
 * The other side is entry.ts; both know these types, each with the globals of its own runtime.
 */
import type { Ports } from "../../src/rpc/ports.ts";

/** What happens to the next calls of one method, e.g. `block.allocate`. */
export interface Fault {
  readonly method: string;
  /** How many calls it meets; absent: one. */
  readonly times?: number;
  readonly delayMs?: number;
  /** How long its answer is kept back once it is done. */
  readonly heldMs?: number;
  /** It stands there, before it arrives or when it is done, until faults are set again. */
  readonly stands?: "before" | "after";
  /** `before`: the call never arrives; `after`: it is done and its answer is lost. */
  readonly fails?: "before" | "after";
}

/** What all objects of the process did since it started. */
export interface CountersAnswer {
  /** Calls as the objects counted them on arrival, e.g. `block.allocate`. */
  readonly calls: Record<string, number>;
  /** Calls as the callers counted them. */
  readonly sent: Record<string, number>;
  readonly commits: Record<string, number>;
  readonly rowsWritten: Record<string, number>;
  readonly rowsRead: Record<string, number>;
}

/** A call of one object, as another object makes it. */
export interface ObjectCall {
  readonly kind: keyof Ports;
  readonly name: readonly (string | number)[];
  readonly method: string;
  readonly request: unknown;
}

interface Client {
  must(method: string, path: string, body?: unknown): Promise<unknown>;
}

/** Reads what all objects did. */
export async function counters(client: Client): Promise<CountersAnswer> {
  return (await client.must("GET", "/test/counters")) as CountersAnswer;
}

/** Sets the faults that the next calls meet; returns how many of the earlier ones nobody met. */
export async function setFaults(client: Client, faults: readonly Fault[]): Promise<number> {
  return ((await client.must("POST", "/test/faults", { faults })) as { unmet: number }).unmet;
}

/** Waits until so many calls stand in faults that were set last: delayed, or done and their answers kept back. */
export async function untilFaulty(client: Client, calls = 1): Promise<void> {
  for (let look = 0; look < QUIET_LOOKS_MAX; look += 1) {
    const { waiting } = (await client.must("GET", "/test/faults")) as { waiting: number };
    if (waiting >= calls) return;
    await new Promise((resolve) => setTimeout(resolve, QUIET_EVERY_MS));
  }
  throw new Error("no call meets a fault");
}

/**
 * As TEST_CLOCK_MS: alarms, which keep to the real clock, are all set for days later, and none comes.
 * Why: an alarm counts as a call, and what it reads and writes counts too.
 */
export const WITHOUT_ALARMS_MS = 10 * 86_400_000;

/** Moves the clock of all objects; alarms keep to the real one, unless the service was started otherwise. */
export async function setClock(client: Client, offsetMs: number): Promise<void> {
  await client.must("POST", "/test/clock", { offsetMs });
}

/** Holds the clock of all objects at a time, until it is set again: what lasts shows no time then. */
export async function holdClock(client: Client, heldAt: number): Promise<void> {
  await client.must("POST", "/test/clock", { offsetMs: heldAt - Date.now(), heldAt });
}

/** Waits until no object waits for an answer of another; what is due later is not waited for. */
export async function untilQuiet(client: Client): Promise<void> {
  for (let look = 0; look < QUIET_LOOKS_MAX; look += 1) {
    const { underWay } = (await client.must("GET", "/test/quiet")) as { underWay: number };
    if (underWay === 0) return;
    await new Promise((resolve) => setTimeout(resolve, QUIET_EVERY_MS));
  }
  throw new Error("the objects do not come to rest");
}

const QUIET_LOOKS_MAX = 4_000;
const QUIET_EVERY_MS = 5;

/** The objects as they see each other; what crosses is JSON, so absent members stay absent. */
export function portsOf(client: Client): Ports {
  const port = (kind: keyof Ports, name: ObjectCall["name"]) =>
    new Proxy(
      {},
      {
        get: (_target, method) => (request: unknown) =>
          client.must("POST", "/test/call", { kind, name, method: String(method), request }),
      },
    );
  return new Proxy({} as Ports, {
    get:
      (_target, kind) =>
      (...name: (string | number)[]) =>
        port(kind as keyof Ports, name),
  });
}
