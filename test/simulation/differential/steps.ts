/**
 * Random steps of the differential test, as plain data that fast-check can shrink and print.
 * May import: fast-check, the vocabulary of the cases, worlds.ts.
 */
import fc from "fast-check";
import type { Arguments, OperationName } from "../../conformance/vocabulary.ts";
import {
  address,
  balancers,
  config,
  host,
  labels,
  POOLS,
  pool,
  range,
  ranges,
  rarely,
  record,
  SLOT_SECONDS,
  someSettings,
  V4,
  V6,
} from "./worlds.ts";

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

/** A handle that stands for that of the address's holder. */
export const HOLDER = "its-holder";

const HANDLES = ["h1", "h2", "h3", "h4", "h5"] as const;

const handle = fc.constantFrom(...HANDLES);
const ends = fc.constantFrom({ start: 1, end: 1 }, { start: 1, end: 0 }, { start: 2, end: 1 });
const owner = fc.record({ namespace: fc.constant("ns"), pod: fc.constantFrom("p1", "p2", "p3") });

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
