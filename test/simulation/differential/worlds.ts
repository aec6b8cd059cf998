/**
 * The worlds of the differential test: few hosts, tiny pools and periods that do not blur.
 * May import: fast-check, the vocabulary of the cases. Plain data that fast-check can shrink and print.
 */
import fc from "fast-check";
import type { Arguments, Given, PoolRecord } from "../../conformance/vocabulary.ts";

/**
 * Seconds from one slot of time to the next. Why slots: on the objects' side time passes with every message,
 * so all periods are odd halves of a slot, and what passes within one is less than half of it.
 */
export const SLOT_SECONDS = 480;

const HOSTS = ["a", "b", "c"] as const;

const RACKS = ["one", "two"] as const;

export const ranges = {
  wide: { cidr: "10.0.0.0/27", sizes: [29, 30, 31] },
  small: { cidr: "10.0.1.0/29", sizes: [29, 30, 32] },
  late: { cidr: "10.0.2.0/28", sizes: [28, 30] },
  six: { cidr: "fd00::/123", sizes: [125, 126] },
  "six-huge": { cidr: "fd00:1::/64", sizes: [126] },
  balancers: { cidr: "10.0.3.0/29", sizes: [30] },
} as const;

type PoolName = keyof typeof ranges;
export const POOLS = Object.keys(ranges) as PoolName[];
export const [V4, V6] = [POOLS.slice(0, 3), POOLS.slice(3, 5)];

/** Absent so many times as often as not, so that most requests are plain ones. */
export function rarely<T>(arbitrary: fc.Arbitrary<T>, absent: number): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: absent, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: arbitrary as fc.Arbitrary<T | undefined> },
  );
}

/** A record without the members that are absent. */
export function record<T>(
  model: { readonly [K in keyof T]?: fc.Arbitrary<T[K] | undefined> },
): fc.Arbitrary<T> {
  return fc
    .record(model as Record<string, fc.Arbitrary<unknown>>)
    .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as T);
}

export const host = fc.constantFrom(...HOSTS);
export const labels = fc.record({ rack: fc.constantFrom(...RACKS) });

export const address = fc.oneof(
  { weight: 4, arbitrary: fc.nat(31).map((n) => `10.0.0.${n}`) },
  { weight: 2, arbitrary: fc.nat(7).map((n) => `10.0.1.${n}`) },
  { weight: 1, arbitrary: fc.nat(15).map((n) => `10.0.2.${n}`) },
  { weight: 1, arbitrary: fc.nat(7).map((n) => `10.0.3.${n}`) },
  { weight: 2, arbitrary: fc.nat(31).map((n) => (n === 0 ? "fd00::" : `fd00::${n.toString(16)}`)) },
  { weight: 1, arbitrary: fc.constant("192.168.0.1") },
);

/** Ranges that are blocks, hold blocks, or are neither. */
export const range = fc.oneof(
  fc.nat(7).map((n) => `10.0.0.${n * 4}/30`),
  fc.nat(3).map((n) => `10.0.0.${n * 8}/29`),
  fc.constantFrom("10.0.0.0/27", "10.0.1.0/29", "10.0.1.4/30", "10.0.2.0/28", "10.0.0.0/32", "fd00::/123"),
  fc.nat(7).map((n) => (n === 0 ? "fd00::/126" : `fd00::${(n * 4).toString(16)}/126`)),
);

/** What of a pool is written again and again; range and block size stay. */
const poolSettings = {
  disabled: rarely(fc.boolean(), 3),
  nodeSelector: rarely(fc.constantFrom("rack == 'one'", "rack == 'two'", "all()"), 2),
  namespaceSelector: rarely(fc.constantFrom("team == 'red'", "has(team)"), 5),
  allowedUses: rarely(fc.constantFrom(["Workload"], ["Tunnel"]), 5),
  assignmentMode: rarely(fc.constantFrom("Manual", "Automatic"), 5),
};

export const someSettings = record<Omit<PoolRecord, "name" | "cidr" | "blockSize">>(poolSettings).filter(
  ({ namespaceSelector, allowedUses }) => namespaceSelector === undefined || allowedUses?.[0] !== "Tunnel",
);

export function pool(name: PoolName, settings: fc.Arbitrary<object>): fc.Arbitrary<PoolRecord> {
  const { cidr, sizes } = ranges[name];
  return fc
    .tuple(fc.constantFrom(...sizes), settings)
    .map(([blockSize, more]) => ({ name, cidr, blockSize, ...more }));
}

export const balancers = pool("balancers", fc.constant({ allowedUses: ["LoadBalancer"] }));

export const config = record<Arguments["setConfig"]>({
  strictAffinity: rarely(fc.constantFrom(true, true, false), 1),
  autoAllocateBlocks: rarely(fc.boolean(), 5),
  maxBlocksPerHost: rarely(fc.integer({ min: 0, max: 3 }), 2),
  ipCooldownSeconds: rarely(fc.constantFrom(0, 1.5 * SLOT_SECONDS, 2.5 * SLOT_SECONDS), 1),
});

/** The world in which a history begins. */
export const givens: fc.Arbitrary<Given> = fc
  .tuple(
    fc.tuple(labels, labels, labels),
    fc.tuple(...V4.slice(0, 2).map((name) => pool(name, fc.constant({})))),
    fc.tuple(...V6.map((name) => pool(name, fc.oneof(fc.constant({}), fc.constant({}), someSettings)))),
    balancers,
    rarely(config, 1),
  )
  .map(([racks, v4, v6, ofBalancers, switches]) => ({
    hosts: racks.slice(0, 2).map((rack, index) => ({ name: HOSTS[index] ?? "", labels: rack })),
    pools: [...v4, ...v6, ofBalancers],
    ...(switches === undefined || isContradiction(switches) ? {} : { config: switches }),
  }));

function isContradiction({ strictAffinity, autoAllocateBlocks, maxBlocksPerHost = 0 }: Given["config"] & {}) {
  return strictAffinity !== true && (maxBlocksPerHost > 0 || autoAllocateBlocks === false);
}
