/**
 * Random worlds and steps of the differential test, as plain data that fast-check can shrink and print.
 * May import: fast-check, the vocabulary of the cases. Few hosts, handles and tiny blocks, so that they meet.
 */
import fc from "fast-check";
import type { Arguments, Given, OperationName, PoolRecord } from "../../conformance/vocabulary.ts";

/** One step. The number of a release is resolved when it runs: each side has numbers of its own. */
export type RandomStep = {
  readonly [O in OperationName]: { readonly op: O; readonly args: ArgumentsHere[O] };
}[OperationName];

export type Guard = "right" | "stale";

interface ArgumentsHere extends Omit<Arguments, "releaseIps"> {
  readonly releaseIps: {
    readonly releases: readonly {
      readonly ip: string;
      readonly handle?: string;
      readonly number?: Guard;
    }[];
  };
}

/**
 * Seconds from one slot of time to the next. Why slots: on the objects' side time passes with every message,
 * so all periods are odd halves of a slot, and what passes within one is less than half of it.
 */
export const SLOT_SECONDS = 480;

/** A handle that stands for that of the address's holder. */
export const HOLDER = "its-holder";

const HOSTS = ["a", "b", "c"] as const;
const HANDLES = ["h1", "h2", "h3", "h4", "h5"] as const;
const RACKS = ["one", "two"] as const;

const ranges = {
  wide: { cidr: "10.0.0.0/27", sizes: [29, 30, 31] },
  small: { cidr: "10.0.1.0/29", sizes: [29, 30, 32] },
  late: { cidr: "10.0.2.0/28", sizes: [28, 30] },
  six: { cidr: "fd00::/123", sizes: [125, 126] },
  "six-huge": { cidr: "fd00:1::/64", sizes: [126] },
  balancers: { cidr: "10.0.3.0/29", sizes: [30] },
} as const;

type PoolName = keyof typeof ranges;
const POOLS = Object.keys(ranges) as PoolName[];
const [V4, V6] = [POOLS.slice(0, 3), POOLS.slice(3, 5)];

/** Absent so many times as often as not, so that most requests are plain ones. */
function rarely<T>(arbitrary: fc.Arbitrary<T>, absent: number): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: absent, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: arbitrary as fc.Arbitrary<T | undefined> },
  );
}

/** A record without the members that are absent. */
function record<T>(model: { readonly [K in keyof T]?: fc.Arbitrary<T[K] | undefined> }): fc.Arbitrary<T> {
  return fc
    .record(model as Record<string, fc.Arbitrary<unknown>>)
    .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as T);
}

const host = fc.constantFrom(...HOSTS);
const handle = fc.constantFrom(...HANDLES);
const labels = fc.record({ rack: fc.constantFrom(...RACKS) });
const ends = fc.constantFrom({ start: 1, end: 1 }, { start: 1, end: 0 }, { start: 2, end: 1 });
const owner = fc.record({ namespace: fc.constant("ns"), pod: fc.constantFrom("p1", "p2", "p3") });

const address = fc.oneof(
  { weight: 4, arbitrary: fc.nat(31).map((n) => `10.0.0.${n}`) },
  { weight: 2, arbitrary: fc.nat(7).map((n) => `10.0.1.${n}`) },
  { weight: 1, arbitrary: fc.nat(15).map((n) => `10.0.2.${n}`) },
  { weight: 1, arbitrary: fc.nat(7).map((n) => `10.0.3.${n}`) },
  { weight: 2, arbitrary: fc.nat(31).map((n) => (n === 0 ? "fd00::" : `fd00::${n.toString(16)}`)) },
  { weight: 1, arbitrary: fc.constant("192.168.0.1") },
);

/** Ranges that are blocks, hold blocks, or are neither. */
const range = fc.oneof(
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

const someSettings = record<Omit<PoolRecord, "name" | "cidr" | "blockSize">>(poolSettings).filter(
  ({ namespaceSelector, allowedUses }) => namespaceSelector === undefined || allowedUses?.[0] !== "Tunnel",
);

function pool(name: PoolName, settings: fc.Arbitrary<object>): fc.Arbitrary<PoolRecord> {
  const { cidr, sizes } = ranges[name];
  return fc
    .tuple(fc.constantFrom(...sizes), settings)
    .map(([blockSize, more]) => ({ name, cidr, blockSize, ...more }));
}

const balancers = pool("balancers", fc.constant({ allowedUses: ["LoadBalancer"] }));

const config = record<Arguments["setConfig"]>({
  strictAffinity: rarely(fc.constantFrom(true, true, false), 1),
  autoAllocateBlocks: rarely(fc.boolean(), 5),
  maxBlocksPerHost: rarely(fc.integer({ min: 0, max: 3 }), 2),
  ipCooldownSeconds: rarely(fc.constantFrom(0, 1.5 * SLOT_SECONDS, 2.5 * SLOT_SECONDS), 1),
});

const reservations = fc
  .uniqueArray(
    fc.oneof(
      range,
      address.map((one) => `${one}/${one.includes(":") ? 128 : 32}`),
    ),
    {
      maxLength: 3,
    },
  )
  .map((reservedCIDRs) => ({
    reservations: reservedCIDRs.length === 0 ? [] : [{ name: "reserved", reservedCIDRs }],
  }));

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

const wish = record<Arguments["autoAssign"]>({
  host,
  handle: fc.option(handle, { nil: undefined, freq: 9 }),
  num4: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined, freq: 4 }),
  num6: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined, freq: 2 }),
  use: fc.oneof(
    { weight: 12, arbitrary: fc.constant("Workload") },
    { weight: 1, arbitrary: fc.constantFrom("Tunnel", "LoadBalancer") },
  ),
  attrs: rarely(owner, 3),
  pools4: rarely(fc.shuffledSubarray([...V4, "10.0.0.0/27"], { minLength: 1, maxLength: 3 }), 2),
  pools6: rarely(fc.shuffledSubarray([...V6], { minLength: 1 }), 8),
  namespaceLabels: rarely(fc.record({ team: fc.constantFrom("red", "blue") }), 4),
  maxBlocksPerHost: rarely(fc.integer({ min: 1, max: 3 }), 5),
  maxAllocPerHandlePerVersion: rarely(fc.integer({ min: 1, max: 4 }), 4),
  hostReserved4: rarely(ends, 15),
  hostReserved6: rarely(ends, 15),
  partial: fc.boolean(),
});

const releases = fc.array(
  record<ArgumentsHere["releaseIps"]["releases"][number]>({
    ip: address,
    handle: rarely(fc.oneof(handle, fc.constant(HOLDER)), 1),
    number: rarely(fc.constantFrom<Guard>("right", "right", "stale"), 2),
  }),
  { minLength: 1, maxLength: 6 },
);

const preconditions = record<NonNullable<Arguments["setOwnerAttributes"]["preconditions"]>>({
  expectedActiveOwner: rarely(owner, 3),
  expectedAlternateOwner: rarely(owner, 5),
});

const ownerHandle = fc.oneof(handle, fc.constant(HOLDER), fc.constant(HOLDER));

const ownerUpdates = record<NonNullable<Arguments["setOwnerAttributes"]["updates"]>>({
  activeOwner: rarely(owner, 1),
  alternateOwner: rarely(owner, 1),
  clearAlternateOwner: rarely(fc.constant(true), 5),
}).filter((one) => {
  return (
    Object.keys(one).length > 0 && !(one.clearAlternateOwner === true && one.alternateOwner !== undefined)
  );
});

function step<O extends OperationName>(
  weight: number,
  op: O,
  args: fc.Arbitrary<ArgumentsHere[O]>,
): fc.WeightedArbitrary<RandomStep> {
  return { weight, arbitrary: args.map((one) => ({ op, args: one }) as unknown as RandomStep) };
}

const mustBeEmpty = rarely(fc.boolean(), 1);

export const steps: fc.Arbitrary<RandomStep> = fc.oneof(
  step(30, "autoAssign", wish),
  step(
    8,
    "assignIp",
    record<Arguments["assignIp"]>({
      host,
      ip: address,
      handle: fc.option(handle, { nil: undefined, freq: 9 }),
      attrs: rarely(owner, 3),
      // Without a use the API takes it for a workload, upstream for anything.
      use: fc.constantFrom("Workload", "Workload", "Workload", "Tunnel", "LoadBalancer"),
      maxAllocPerHandlePerVersion: rarely(fc.integer({ min: 1, max: 4 }), 5),
    }),
  ),
  step(9, "releaseIps", fc.record({ releases })),
  step(8, "releaseByHandle", fc.record({ handle })),
  step(2, "ipsByHandle", fc.record({ handle })),
  step(2, "getAttributes", fc.record({ ip: address })),
  step(
    3,
    "setOwnerAttributes",
    fc.record({ ip: address, handle: ownerHandle, updates: ownerUpdates, preconditions }),
  ),
  step(2, "claimAffinity", fc.record({ host, cidr: range })),
  step(2, "releaseAffinity", record<Arguments["releaseAffinity"]>({ host, cidr: range, mustBeEmpty })),
  step(1, "releaseBlockAffinity", record<Arguments["releaseBlockAffinity"]>({ cidr: range, mustBeEmpty })),
  step(
    1,
    "releaseHostAffinities",
    record<Omit<Arguments["releaseHostAffinities"], "type">>({ host, mustBeEmpty }),
  ),
  step(1, "releasePoolAffinities", fc.record({ cidr: fc.constantFrom("10.0.0.0/27", "fd00::/123") })),
  step(2, "removeHost", fc.record({ host })),
  step(4, "applyHost", fc.record({ name: host, labels })),
  step(
    2,
    "ensureBlock",
    record<Pick<Arguments["ensureBlock"], "host" | "hostReserved4" | "hostReserved6">>({
      host,
      hostReserved4: ends,
      hostReserved6: rarely(ends, 1),
    }),
  ),
  step(4, "setConfig", config),
  step(
    4,
    "updatePool",
    fc
      .tuple(fc.constantFrom(...V4, ...V6), someSettings)
      .map(([name, settings]) => ({ name, cidr: ranges[name].cidr, ...settings })),
  ),
  step(
    2,
    "createPool",
    fc.constantFrom(...POOLS).chain((name) => (name === "balancers" ? balancers : pool(name, someSettings))),
  ),
  step(1, "deletePool", fc.record({ name: fc.constantFrom(...POOLS) })),
  step(3, "setReservations", reservations),
  step(
    5,
    "advanceTime",
    fc.record({ seconds: fc.constantFrom(SLOT_SECONDS, SLOT_SECONDS, 2 * SLOT_SECONDS) }),
  ),
  step(1, "utilization", fc.constant({})),
);
