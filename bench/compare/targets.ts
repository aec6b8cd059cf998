/**
 * What is aimed at, and whether this run reached it.
 * May import: the lines. Rule: a target that could not be measured is neither met nor missed.
 */
import { type Cost, type Figure, type Line, ratio } from "./line.ts";

export interface Target {
  readonly text: string;
  /** Shape: `at most` or `at least`, and how much. */
  readonly bound: "≤" | "≥";
  readonly limit: number;
  readonly value: number;
  /** Absent: not measured. */
  readonly isMet?: boolean;
}

/** Of the cost of one operation by itself. */
const BUDGETS = [
  ["allocate-1", "allocate", { calls: 3, commits: 2, rows: 2 }],
  ["dual", "IPv4 and IPv6", { calls: 4, commits: 4, rows: 4 }],
  ["release", "release by handle", { calls: 3, commits: 2, rows: 2 }],
] as const;

/** Every target, in the order in which they are stated. */
export function targetsOf(lines: readonly Line[]): Target[] {
  const at = (id: string, clients: number) =>
    lines.find((line) => line.id === id && line.clients === clients && line.fault === undefined);
  const of = (id: string, to: string, clients: number, figure: Figure) =>
    ratio(at(id, clients), at(to, clients), figure);
  const nameOf = (id: string) => lines.find((line) => line.id === id)?.name ?? "4,096 blocks";
  const size = (blocks: string, percent: number) => of(`size-${blocks}-${percent}`, "size-1-0", 1, "p50");
  return [
    atMost(1.8, of("allocate-1", "write", 1, "p50"), "1 client, 1 host: p50, to the durable write"),
    atLeast(0.5, of("allocate-1", "noop", 64, "perSecond"), "64 clients, 1 host: rate, to the no-op"),
    atLeast(
      0.9,
      of("allocate-50", "write", 64, "perSecond"),
      "64 clients, 50 hosts: rate, to the durable write",
    ),
    atMost(1.1, size("1", 99), "1 block 99 % full: p50, to empty"),
    atMost(1.1, size("many", 0), `${nameOf("size-many-0")}: p50, to 1 block`),
    atMost(1.1, size("many", 99), `${nameOf("size-many-99")}: p50, to 1 block, empty`),
    ...[1, 50].flatMap((hosts) => {
      const shape = `64 clients, ${hosts} host${hosts === 1 ? "" : "s"}`;
      const [mine, peer] = [`allocate-${hosts}`, `etcd-${hosts}`];
      return [
        atLeast(4, of(mine, peer, 64, "perSecond"), `${shape}: rate, to etcd`),
        atMost(0.5, of(mine, peer, 64, "p50"), `${shape}: p50, to etcd`),
      ];
    }),
    atMost(1, of("release", "allocate-1", 1, "p50"), "1 client: p50 of release, to allocate"),
    atLeast(1, of("release", "allocate-1", 64, "perSecond"), "64 clients: rate of release, to allocate"),
    ...[1, 64].map((clients) =>
      atLeast(
        0.9,
        of("sweep-50", "held-50", clients, "perSecond"),
        `sweep after sweep, ${clients} client${clients === 1 ? "" : "s"}: rate, to none`,
      ),
    ),
    ...BUDGETS.flatMap(([id, name, budget]) =>
      Object.entries(budget).map(([what, limit]) =>
        atMost(limit, at(id, 1)?.alone?.[what as keyof Cost] ?? Number.NaN, `${name}, by itself: ${what}`),
      ),
    ),
  ];
}

function atMost(limit: number, value: number, text: string): Target {
  return { text, bound: "≤", limit, value, ...(Number.isNaN(value) ? {} : { isMet: value <= limit }) };
}

function atLeast(limit: number, value: number, text: string): Target {
  return { text, bound: "≥", limit, value, ...(Number.isNaN(value) ? {} : { isMet: value >= limit }) };
}
