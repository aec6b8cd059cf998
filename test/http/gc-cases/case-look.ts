/**
 * What a caller can see of the collector's work, in the words of its cases.
 * May import: the service of the case. Rule: only the API is looked at.
 */
import type { CaseService } from "./case-service.ts";

/** How everything stands at one time. */
export interface Look {
  readonly allocated: readonly string[];
  readonly cooling: readonly string[];
  readonly candidates: readonly string[];
  /** Proven leaked, whatever it is that they wait for. */
  readonly confirmed: readonly string[];
  /** By block; `undefined` for one without owner. */
  readonly owners: ReadonlyMap<string, string | undefined>;
  /** The pool of each block. */
  readonly pools: Readonly<Record<string, string>>;
  readonly isPaused: boolean;
}

interface WireLeak {
  readonly address: string;
  readonly host: string;
  readonly state: string;
}

/** Looks at everything that a case may ask about. */
export async function look(service: CaseService): Promise<Look & { readonly leaks: readonly WireLeak[] }> {
  const leaks = (await service.all("/v1/leaks")) as WireLeak[];
  const inState = async (state: string) =>
    (await service.all(`/v1/allocations?state=${state}`)).map(({ address }) => String(address));
  const blocks = (await service.all("/v1/blocks")) as {
    cidr: string;
    pool: string;
    affinity?: { name: string };
  }[];
  const { paused } = await service.must("GET", "/v1/gc");
  const of = (...states: string[]) =>
    leaks.filter(({ state }) => states.includes(state)).map(({ address }) => address);
  return {
    leaks,
    allocated: await inState("allocated"),
    cooling: await inState("cooling"),
    candidates: of("candidate"),
    confirmed: of("confirmed", "held"),
    owners: new Map(blocks.map(({ cidr, affinity }) => [cidr, affinity?.name])),
    pools: Object.fromEntries(blocks.map(({ cidr, pool }) => [cidr, pool])),
    isPaused: paused === true,
  };
}

/** What the metrics say, by the name of a sample with its labels; null for those asked for that are not there. */
export async function seriesOf(service: CaseService, asked: unknown): Promise<[string, number | null][]> {
  if (asked === undefined) return [];
  const { status, text } = await service.send("GET", "/metrics");
  if (status !== 200) throw new Error(`GET /metrics: ${status}`);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const samples = lines.map((line): [string, number] => {
    return [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))];
  });
  const names = new Set(samples.map(([name]) => name));
  const absent = Object.keys(asked as object).filter((name) => !names.has(name));
  return [...samples, ...absent.map((name): [string, null] => [name, null])];
}
