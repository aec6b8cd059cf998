/**
 * How far an allocation is from its limit: the skeletons, which make the same calls and commits and decide nothing.
 * May import: the lines. Rule: what was not measured is not a number.
 */
import { type Figure, type Line, ratio } from "./line.ts";

/** An allocation beside one skeleton, as ratios. */
export interface Distance {
  readonly text: string;
  /** Times at one client: 1 is the limit, more is slower. */
  readonly p50: number;
  /** At 64 clients: 1 is the limit, less is slower. */
  readonly rate: number;
  /** At 64 clients, processor time of the server: 1 is the limit, more is dearer. */
  readonly cpu: number;
}

/** A target, as each of these reaches it. */
export interface Reach {
  readonly text: string;
  readonly aim: string;
  readonly skeleton: number;
  readonly gathered: number;
  readonly checked: number;
  readonly allocate: number;
}

/** What a line has that the one before has not, and how it stands to the no-op and the floor. */
export interface Layer {
  readonly text: string;
  /** At one client, to the floor. */
  readonly p50: number;
  /** At 64 clients, to the no-op; processor time of the server. */
  readonly cpu: number;
  /** At 64 clients, to the no-op. */
  readonly rate: number;
}

const DISTANCES = [
  ["1 host: to the skeleton", "allocate-1", "skeleton-1"],
  ["1 host: to it, gathered", "allocate-1", "gathered-skeleton-1"],
  ["1 host: to it, with checks", "allocate-1", "checked-skeleton-1"],
  ["1 host, no claims: to that", "roomy-1", "checked-skeleton-1"],
  ["50 hosts: to the skeleton", "allocate-50", "skeleton-50"],
  ["50 hosts: to it, with checks", "allocate-50", "checked-skeleton-50"],
  ["50 hosts, no claims: to that", "roomy-50", "checked-skeleton-50"],
] as const;

/** From what does nothing to an allocation; what goes alone at one client is not gathered there. */
const LAYERS = [
  ["no-op", "noop", "noop"],
  ["1 host: calls, commits", "skeleton-1", "gathered-skeleton-1"],
  ["… and checks, answer", "checked-skeleton-1", "checked-skeleton-1"],
  ["… and decisions, records", "roomy-1", "roomy-1"],
  ["… and claims: allocate", "allocate-1", "allocate-1"],
  ["50 hosts: calls, commits", "skeleton-50", "skeleton-50"],
  ["… and checks, answer", "checked-skeleton-50", "checked-skeleton-50"],
  ["… and decisions, records", "roomy-50", "roomy-50"],
  ["… and claims: allocate", "allocate-50", "allocate-50"],
] as const;

interface Aim {
  readonly text: string;
  readonly aim: string;
  readonly hosts: number;
  readonly to: string;
  readonly clients: number;
  readonly figure: Figure;
}

/** Of the targets, those that compare an allocation with something that is no allocation of ours. */
const AIMS: readonly Aim[] = [
  { text: "1 client, 1 host: p50/write", aim: "≤ 1.8", hosts: 1, to: "write", clients: 1, figure: "p50" },
  {
    text: "64 clients, 1 host: rate/no-op",
    aim: "≥ 0.5",
    hosts: 1,
    to: "noop",
    clients: 64,
    figure: "perSecond",
  },
  {
    text: "64 clients, 50 hosts: rate/write",
    aim: "≥ 0.9",
    hosts: 50,
    to: "write",
    clients: 64,
    figure: "perSecond",
  },
  {
    text: "64 clients, 50 hosts: rate/etcd",
    aim: "≥ 4",
    hosts: 50,
    to: "etcd-50",
    clients: 64,
    figure: "perSecond",
  },
  {
    text: "64 clients, 50 hosts: p50/etcd",
    aim: "≤ 0.5",
    hosts: 50,
    to: "etcd-50",
    clients: 64,
    figure: "p50",
  },
];

/** An allocation beside each skeleton. */
export function distancesOf(lines: readonly Line[]): Distance[] {
  return DISTANCES.map(([text, mine, limit]) => ({
    text,
    p50: between(lines, mine, limit, 1, "p50"),
    rate: between(lines, mine, limit, 64, "perSecond"),
    cpu: between(lines, mine, limit, 64, "cpuMicros"),
  }));
}

/** What an allocation is made of, one thing after the other. */
export function layersOf(lines: readonly Line[]): Layer[] {
  return LAYERS.map(([text, alone, among]) => ({
    text,
    p50: between(lines, alone, "write", 1, "p50"),
    cpu: between(lines, among, "noop", 64, "cpuMicros"),
    rate: between(lines, among, "noop", 64, "perSecond"),
  }));
}

/** How near the skeletons, and an allocation, come to each target. */
export function reachesOf(lines: readonly Line[]): Reach[] {
  return AIMS.map(({ text, aim, hosts, to, clients, figure }) => {
    const of = (id: string) => between(lines, `${id}-${hosts}`, to, clients, figure);
    const [skeleton, gathered] = [of("skeleton"), of("gathered-skeleton")];
    return { text, aim, skeleton, gathered, checked: of("checked-skeleton"), allocate: of("allocate") };
  });
}

function between(lines: readonly Line[], id: string, to: string, clients: number, figure: Figure): number {
  const at = (wanted: string) =>
    lines.find((line) => line.id === wanted && line.clients === clients && line.fault === undefined);
  return ratio(at(id), at(to), figure);
}
