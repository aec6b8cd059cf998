/**
 * What a test may ask of the test entry: counters, clock, faults. May import: the test client.
 * The other side is entry.ts; types stand here because that file needs the globals of workerd.
 */
import type { HttpClient } from "./http-client.ts";

/** What happens to the next calls of one method, e.g. `block.allocate`. */
export interface Fault {
  readonly method: string;
  /** How many calls it meets; absent: one. */
  readonly times?: number;
  readonly delayMs?: number;
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
}

/** Reads what all objects did. */
export async function counters(client: HttpClient): Promise<CountersAnswer> {
  return (await client.must("GET", "/test/counters")) as unknown as CountersAnswer;
}

/** Sets the faults that the next calls meet; returns how many of the earlier ones nobody met. */
export async function setFaults(client: HttpClient, faults: readonly Fault[]): Promise<number> {
  const answer = await client.must("POST", "/test/faults", { faults });
  return (answer as unknown as { unmet: number }).unmet;
}

/** Moves the clock of all objects; alarms keep to the real one. */
export async function setClock(client: HttpClient, offsetMs: number): Promise<void> {
  await client.must("POST", "/test/clock", { offsetMs });
}
