/**
 * What a test may ask of the test entry: counters, clock, faults. May import: nothing.
 * The other side is entry.ts; both know these types, each with the globals of its own runtime.
 */

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
  readonly rowsRead: Record<string, number>;
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

/** Moves the clock of all objects; alarms keep to the real one. */
export async function setClock(client: Client, offsetMs: number): Promise<void> {
  await client.must("POST", "/test/clock", { offsetMs });
}
