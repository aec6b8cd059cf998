/**
 * What must hold of all objects' rows, and of what clients were told (I1–I15).
 * May import: the simulation, src/core. Rule: it reads committed rows from outside and asks no object.
 */
import { loadedTenures, type Tenancy } from "./block-tenancy.ts";
import { type Asked, FAILURES, type Released, type Scene, type Told } from "./scene.ts";

/** A violation, in words. */
export type Finding = string;

interface KeyRowSeen {
  readonly handle: string;
  readonly key: string;
  readonly block: string;
  readonly state: string;
}

interface AffinitySeen {
  readonly host: string;
  readonly block: string;
  readonly state: string;
  readonly family: number;
  readonly epoch: number;
}

/** All that the objects' committed rows say now. */
export interface Snapshot {
  readonly blocks: readonly Tenancy[];
  readonly keys: readonly KeyRowSeen[];
  readonly affinities: readonly AffinitySeen[];
  /** Blocks of the directories that are not free, by object name. */
  readonly directory: ReadonlySet<string>;
}

/** What one object's rows say. */
interface Part {
  readonly version: number;
  readonly block?: Tenancy | undefined;
  readonly keys?: readonly KeyRowSeen[];
  readonly affinities?: readonly AffinitySeen[];
  readonly listed?: readonly string[];
}

const read = new WeakMap<Scene["world"], Map<string, Part>>();

/** Reads every object, or remembers what it read of those that have not changed. */
export function snapshot({ world }: Scene): Snapshot {
  const parts = read.get(world) ?? new Map<string, Part>();
  read.set(world, parts);
  for (const name of world.objectNames) {
    const version = world.versionOf(name);
    if (parts.get(name)?.version !== version) parts.set(name, { version, ...partOf(world, name) });
  }
  const all = [...parts.values()];
  return {
    blocks: all.flatMap(({ block }) => block ?? []),
    keys: all.flatMap(({ keys = [] }) => keys),
    affinities: all.flatMap(({ affinities = [] }) => affinities),
    directory: new Set(all.flatMap(({ listed = [] }) => listed)),
  };
}

function partOf(world: Scene["world"], name: string): Omit<Part, "version"> {
  const hasTables =
    world.rows(name, "SELECT name FROM sqlite_master WHERE name = 'schema_version'").length > 0;
  if (!hasTables) return {};
  const [kind, , , last = ""] = name.split(":");
  if (kind === "block") return { block: loadedTenures(world, name) };
  if (kind === "pool") return { listed: directoryOf(world, name) };
  if (kind === "handle-index") {
    const keys = world.rows(name, "SELECT handle, key, block, state FROM keys");
    return { keys: keys as unknown as KeyRowSeen[] };
  }
  if (kind !== "host") return {};
  const rows = world.rows(name, "SELECT block, state, family, epoch FROM affinities");
  const affinities = rows.map((row) => ({ ...row, host: last }));
  return { affinities: affinities as unknown as AffinitySeen[] };
}

function directoryOf(world: Scene["world"], name: string): string[] {
  const pool = world.rows(name, "SELECT cidr, block_size FROM pool")[0];
  if (pool === undefined) return [];
  return world
    .rows(name, "SELECT hex(position) AS position FROM block WHERE state <> 'free'")
    .map(({ position }) => `${pool.cidr} ${pool.block_size} ${BigInt(`0x${position}`)}`);
}

/**
 * What holds between any two events: the index lists what blocks hold, directories list what exists,
 * a confirmed row is the block's own word.
 */
export function checkRows(seen: Snapshot): Finding[] {
  const listed = new Set(
    seen.keys
      .filter(({ state }) => state === "reserved")
      .map((row) => `${row.handle} ${row.key} ${row.block}`),
  );
  const owners = new Map(seen.blocks.map(({ block, owner }) => [block, owner]));
  const findings: Finding[] = [];
  for (const { block, held, owner, place } of seen.blocks) {
    for (const { handle, key, address } of held) {
      if (!listed.has(`${handle} ${key} ${block}`))
        findings.push(
          `I5: ${address} is held by ${handle} with ${key}, which the index does not list in ${block}`,
        );
    }
    if ((owner !== undefined || held.length > 0) && !seen.directory.has(place))
      findings.push(`I5: ${block} exists (owner ${owner}) and its Pool does not list it`);
  }
  const confirmed = new Map<string, string>();
  for (const { host, block, state } of seen.affinities) {
    if (state !== "confirmed") continue;
    if (owners.get(block) !== host)
      findings.push(`I6: ${host} has ${block} confirmed, whose owner is ${owners.get(block)}`);
    const other = confirmed.get(block);
    if (other !== undefined) findings.push(`I6: ${block} is confirmed by ${other} and ${host}`);
    confirmed.set(block, host);
  }
  return findings;
}

/** Rows of one family per host, claimed or being claimed, against the cap (I10). */
export function checkCap(seen: Snapshot, cap: number): Finding[] {
  const counts = new Map<string, number>();
  for (const { host, family, state } of seen.affinities) {
    if (state !== "pendingDeletion")
      counts.set(`${host} ${family}`, (counts.get(`${host} ${family}`) ?? 0) + 1);
  }
  return [...counts].filter(([, n]) => n > cap).map(([who, n]) => `I10: ${who} has ${n} rows, cap ${cap}`);
}

/** No handle that always asks under a limit holds more than that in a family (I9). */
export function checkLimits(scene: Scene, seen: Snapshot): Finding[] {
  const limits = new Map(scene.asked.map(({ handle, limit }) => [handle, limit]));
  const held = new Map<string, number>();
  for (const one of seen.blocks.flatMap((block) => block.held)) {
    const who = `${one.handle} ${one.address.includes(":") ? 6 : 4}`;
    held.set(who, (held.get(who) ?? 0) + 1);
  }
  return [...held].flatMap(([who, n]) => {
    const limit = limits.get(who.split(" ")[0] ?? "");
    return limit !== undefined && n > limit ? [`I9: ${who} holds ${n}, limit ${limit}`] : [];
  });
}

/** What clients were told, against what the blocks hold once all is quiet. */
export function checkHistory(scene: Scene, seen: Snapshot): Finding[] {
  const tenures = tenuresOf(scene);
  return [
    ...checkOverlaps(tenures),
    ...checkHeld(tenures, seen),
    ...checkReleases(scene, seen),
    ...checkKeys(scene, seen),
    ...checkRefusals(scene, seen),
  ];
}

/** One address in one handle's hands, as far as clients know: certainly held in [from, to). */
interface Known {
  readonly told: Told;
  readonly handle: string;
  readonly host: string;
  readonly key: string;
  readonly reused: boolean;
  readonly from: number;
  readonly to: number;
}

function tenuresOf({ asked, released }: Scene): Known[] {
  return asked.flatMap((one) => {
    const { ended, handle, host, key, begun, over } = one;
    if (ended?.kind !== "ok") return [];
    return ended.addresses.map((told): Known => {
      const ends = released.filter((release) => concerns(release, handle, told) && release.over > begun);
      const to = Math.min(...ends.map((release) => Math.max(over, release.begun)));
      return { told, handle, host, key, reused: ended.reused, from: over, to };
    });
  });
}

/** Could this release have ended the tenure? */
function concerns(release: Released, handle: string, told: Told): boolean {
  if (release.address !== undefined) {
    if (release.address !== told.address) return false;
    const { sequenceNumber } = release;
    if (sequenceNumber !== undefined && sequenceNumber !== told.sequenceNumber) return false;
    return release.handle === undefined || release.handle === handle;
  }
  return release.handle === handle;
}

function checkOverlaps(tenures: readonly Known[]): Finding[] {
  const findings: Finding[] = [];
  for (const [index, one] of tenures.entries()) {
    for (const other of tenures.slice(index + 1)) {
      if (one.told.address !== other.told.address) continue;
      if (one.told.sequenceNumber === other.told.sequenceNumber && one.handle === other.handle) continue;
      if (Math.max(one.from, other.from) < Math.min(one.to, other.to))
        findings.push(`I1: ${one.told.address} is held by ${one.handle} and by ${other.handle} at a time`);
    }
  }
  return findings;
}

function checkHeld(tenures: readonly Known[], { blocks }: Snapshot): Finding[] {
  const held = new Set(
    blocks.flatMap((block) => block.held.map((one) => `${one.address} ${one.handle} ${one.sequenceNumber}`)),
  );
  return tenures
    .filter(({ to }) => to === Number.POSITIVE_INFINITY)
    .filter(({ told, handle }) => !held.has(`${told.address} ${handle} ${told.sequenceNumber}`))
    .map(({ told, handle, key }) => `I4: ${told.address} was given to ${handle} with ${key} and is not held`);
}

/** After a release that was answered, nothing is left of requests that were over before it began. */
function checkReleases({ asked, released }: Scene, { blocks }: Snapshot): Finding[] {
  const findings: Finding[] = [];
  for (const { handle, address, sequenceNumber, begun, ended } of released) {
    if (ended?.kind !== "ok") continue;
    if (address !== undefined) {
      const left = blocks
        .flatMap((block) => block.held)
        .some((one) => one.address === address && one.sequenceNumber === sequenceNumber);
      if (left) findings.push(`I4: ${address} was released and is held under the same number`);
      continue;
    }
    for (const one of blocks.flatMap((block) => block.held)) {
      if (one.handle !== handle) continue;
      const ofKey = asked.filter((ask) => ask.handle === handle && `${ask.host}/${ask.key}` === one.key);
      if (ofKey.length > 0 && ofKey.every((ask) => ask.over < begun))
        findings.push(`I4: ${one.address} is held by ${handle} with ${one.key} after its release`);
    }
  }
  return findings;
}

/** I13: one key, one answer; and it holds no more than was asked for. */
function checkKeys({ asked }: Scene, { blocks }: Snapshot): Finding[] {
  const findings: Finding[] = [];
  const byKey = Map.groupBy(asked, (ask) => `${ask.handle} ${ask.host}/${ask.key}`);
  for (const [name, ofKey] of byKey) {
    const answers = new Set(
      ofKey.flatMap(({ ended }) =>
        ended?.kind === "ok" && !ended.reused ? [ended.addresses.map(textOf).sort().join(" ")] : [],
      ),
    );
    if (!(ofKey[0]?.partial === true ? areNested(answers) : answers.size <= 1))
      findings.push(`I13: ${name} got ${[...answers].join(" and ")}`);
    const held = blocks.flatMap((block) => block.held.filter((one) => `${one.handle} ${one.key}` === name));
    for (const family of [4, 6] as const) {
      const n = held.filter(({ address }) => address.includes(":") === (family === 6)).length;
      const most = ofKey[0]?.counts[family] ?? 0;
      if (n > most) findings.push(`I13: ${name} holds ${n} addresses of IPv${family}, asked for ${most}`);
    }
  }
  return findings;
}

/** What a partial request holds may grow until it has all; what it was told of is in every later answer. */
function areNested(answers: ReadonlySet<string>): boolean {
  const sets = [...answers].map((answer) => new Set(answer.split(" "))).sort((a, b) => a.size - b.size);
  return sets.every((set, at) => at === 0 || sets[at - 1]?.isSubsetOf(set) === true);
}

function textOf({ address, sequenceNumber }: Told): string {
  return `${address}#${sequenceNumber}`;
}

/**
 * I15: a request that was definitely refused at its every try holds nothing, but what others were told of.
 * The one exception (architecture, both families or none): two tries at once, in two instances of a Host; what
 * one has created the other finds, and neither may take it back.
 */
function checkRefusals({ asked }: Scene, { blocks }: Snapshot): Finding[] {
  const told = new Set(
    asked.flatMap(({ ended }) =>
      ended?.kind === "ok" ? ended.addresses.map((one) => `${one.address}#${one.sequenceNumber}`) : [],
    ),
  );
  const byKey = Map.groupBy(asked, (ask) => `${ask.handle} ${ask.host}/${ask.key}`);
  return [...byKey].flatMap(([name, ofKey]) => {
    if (!ofKey.every(isRefused) || isOfBothFamiliesAtOnce(ofKey)) return [];
    const held = blocks.flatMap((block) => block.held.filter((one) => `${one.handle} ${one.key}` === name));
    const untold = held.filter((one) => !told.has(`${one.address}#${one.sequenceNumber}`));
    return untold.map(({ address }) => `I15: ${name} was refused and holds ${address}`);
  });
}

function isOfBothFamiliesAtOnce(tries: readonly Asked[]): boolean {
  const isOfBoth = tries.some(({ counts }) => counts[4] > 0 && counts[6] > 0);
  const areAtOnce = tries.some((one) =>
    tries.some((other) => one.begun < other.begun && other.begun < one.over),
  );
  return isOfBoth && areAtOnce;
}

function isRefused({ ended }: Asked): boolean {
  return ended?.kind === "refused" && !FAILURES.has(ended.code);
}
