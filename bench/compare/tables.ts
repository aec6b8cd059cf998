/**
 * The tables of the comparison: times, ratios and cost, one operation by itself, limits, targets. 80 columns each.
 * May import: the lines, the table.
 */
import { type Column, head, isMarkdown, line as row } from "../table.ts";
import { distancesOf, layersOf, reachesOf } from "./limits.ts";
import { costOf, type Line, middle, type Round, ratio, spread } from "./line.ts";
import type { Target } from "./targets.ts";

/** A number of things in words. */
export function plural(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}

const NAME = { title: "what", width: 23 };
const TIMES: readonly Column[] = [
  NAME,
  { title: "per s", width: 7, digits: 0 },
  { title: "least–most", width: 14, digits: 0 },
  { title: "p50 ms", width: 7, digits: 2 },
  { title: "p99 ms", width: 7, digits: 1 },
  { title: "CPU µs", width: 7, digits: 0 },
  { title: "load %", width: 6, digits: 0 },
];
const RATIOS: readonly Column[] = [
  NAME,
  { title: "/no-op", width: 7, digits: 2 },
  { title: "/write", width: 7, digits: 2 },
  { title: "p50/write", width: 9, digits: 2 },
  { title: "calls", width: 6, digits: 2 },
  { title: "commits", width: 7, digits: 2 },
  { title: "rows", width: 6, digits: 2 },
];
const ALONE: readonly Column[] = [
  NAME,
  { title: "calls", width: 7, digits: 1 },
  { title: "commits", width: 7, digits: 1 },
  { title: "rows", width: 7, digits: 1 },
];
const DISTANCES: readonly Column[] = [
  { title: "allocate", width: 29 },
  { title: "1 client: p50", width: 13, digits: 2 },
  { title: "64: rate", width: 9, digits: 2 },
  { title: "64: CPU", width: 9, digits: 2 },
];
const LAYERS: readonly Column[] = [
  { title: "with", width: 29 },
  { title: "1: p50/write", width: 13, digits: 2 },
  { title: "64: CPU/no-op", width: 14, digits: 2 },
  { title: "64: rate/no-op", width: 15, digits: 2 },
];
const REACHES: readonly Column[] = [
  { title: "target", width: 33 },
  { title: "aim", width: 6, digits: 0 },
  { title: "skeleton", width: 9, digits: 2 },
  { title: "gathered", width: 8, digits: 2 },
  { title: "checks", width: 7, digits: 2 },
  { title: "allocate", width: 8, digits: 2 },
];
const TARGETS: readonly Column[] = [
  { title: "target", width: 49 },
  { title: "aim", width: 7, digits: 0 },
  { title: "measured", width: 9, digits: 2 },
  { title: "", width: 7 },
];

/** With a line for each address where an operation has several; times are those of the operation only. */
function withAddresses(lines: readonly Line[]): Line[] {
  return lines.flatMap((line) => {
    const { addresses, rounds } = line;
    if (addresses === 1 || line.fault !== undefined) return [line];
    const each = rounds.map((round): Round => {
      const cost = round.cost && {
        calls: round.cost.calls / addresses,
        commits: round.cost.commits / addresses,
        rows: round.cost.rows / addresses,
      };
      const perSecond = round.perSecond * addresses;
      const times = { p50: Number.NaN, p99: Number.NaN, cpuMicros: round.cpuMicros / addresses };
      return { ...round, ...times, perSecond, ...(cost && { cost }) };
    });
    return [line, { ...line, name: "…, for each address", rounds: each }];
  });
}

/** Rates and times of all lines, by the number of clients. */
export function timesTable(lines: readonly Line[]): string {
  return grouped(lines, TIMES, (line) => {
    const [least, most] = spread(line, "perSecond");
    const range = `${least.toFixed(0)}–${most.toFixed(0)}`;
    const times = (["p50", "p99", "cpuMicros"] as const).map((figure) => middle(line, figure));
    return [line.name, middle(line, "perSecond"), range, ...times, middle(line, "share") * 100];
  });
}

/** How each line stands to the no-op and the floor, and what an operation made the objects do. */
export function ratiosTable(lines: readonly Line[]): string {
  return grouped(lines, RATIOS, (line) => {
    const to = (id: string) => lines.find((other) => other.id === id && other.clients === line.clients);
    const cost = costOf(line);
    return [
      line.name,
      ratio(line, to("noop"), "perSecond"),
      ratio(line, to("write"), "perSecond"),
      ratio(line, to("write"), "p50"),
      cost?.calls,
      cost?.commits,
      cost?.rows,
    ];
  });
}

/** What one operation costs that meets no other. */
export function aloneTable(lines: readonly Line[]): string {
  const counted = lines.filter(({ alone, fault }) => alone !== undefined && fault === undefined);
  const rows = counted.map(({ name, alone }) =>
    row(ALONE, [name, alone?.calls, alone?.commits, alone?.rows]),
  );
  return [head(ALONE), ...rows].join("\n");
}

/** How far an allocation is from the same calls and commits without a decision. */
export function distancesTable(lines: readonly Line[]): string {
  const rows = distancesOf(lines).map(({ text, p50, rate, cpu }) => row(DISTANCES, [text, p50, rate, cpu]));
  return [head(DISTANCES), ...rows].join("\n");
}

/** What an allocation is made of; each line has all that the one above has. */
export function layersTable(lines: readonly Line[]): string {
  const rows = layersOf(lines).map(({ text, p50, cpu, rate }) => row(LAYERS, [text, p50, cpu, rate]));
  return [head(LAYERS), ...rows].join("\n");
}

/** What of the targets can be reached by whoever decides nothing. */
export function reachesTable(lines: readonly Line[]): string {
  const rows = reachesOf(lines).map(({ text, aim, skeleton, gathered, checked, allocate }) =>
    row(REACHES, [text, aim, skeleton, gathered, checked, allocate]),
  );
  return [head(REACHES), ...rows].join("\n");
}

export function targetsTable(targets: readonly Target[]): string {
  const rows = targets.map(({ text, bound, limit, value, isMet }) => {
    const verdict = isMet === undefined ? "" : isMet ? "met" : "NOT MET";
    return row(TARGETS, [text, `${bound} ${limit}`, value, verdict]);
  });
  return [head(TARGETS), ...rows].join("\n");
}

type Values = Parameters<typeof row>[1];

function grouped(lines: readonly Line[], columns: readonly Column[], values: (line: Line) => Values): string {
  const counts = [...new Set(lines.map(({ clients }) => clients))].sort((one, other) => one - other);
  const groups = counts.map((clients) => {
    const mine = withAddresses(lines.filter((line) => line.clients === clients));
    const rows = mine.map((line) =>
      line.fault === undefined ? row(columns, values(line)) : row(columns, [line.name]),
    );
    const title = plural(clients, "client");
    return [`${isMarkdown ? `**${title}**` : title}\n`, head(columns), ...rows].join("\n");
  });
  return groups.join("\n\n");
}
