/**
 * Judges what the collector does by what agents said and by which pods live (I11).
 * May import: the simulation, src. Rule: it looks at orders as they leave a Host, and at addresses as they are freed.
 */
import { hostObjectName } from "../../../../src/core/ids.ts";
import { SETTLE_MS } from "../../../../src/core/leak-evidence.ts";
import type { ReportedWorkload } from "../../../../src/core/leak-report.ts";
import { namedOwners } from "../../../../src/core/leak-subject.ts";
import type { AttachmentsRequest, ReleaseLeakedRequest, WorkloadReport } from "../../../../src/rpc/leaks.ts";
import { type Holding, loadedTenures } from "../block-tenancy.ts";
import { type Snapshot, snapshot } from "../checker.ts";
import { blockObject } from "../deployment.ts";
import type { Message } from "../messages.ts";
import type { Scene } from "../scene.ts";
import type { CollectorEars } from "../watch.ts";
import { type Agents, NETWORK, type SentAttachments, type SentReport } from "./agents.ts";
import type { Pods } from "./pods.ts";

/** Clocks of two objects lie at most so far apart, ms. */
const SKEW_MS = 110;
/** How long an order may be on its way, its repeats included; an old word of another host as long. */
const ORDER_MS = 15_000;

/** When a piece of evidence arrived, by the clock of its Host and less its age, at the least and at the most. */
interface Arrived {
  least: number;
  most: number;
}

type Sent = SentReport | SentAttachments;

/** A tenure that the collector ended. `at` counts events. */
interface Freed {
  readonly address: string;
  readonly handle: string;
  readonly sequenceNumber: number;
  readonly at: number;
  /** Its host was removed after the last touch. */
  readonly isOfRemoved: boolean;
}

export class Witness implements CollectorEars {
  readonly #scene: Scene;
  readonly #pods: Pods;
  readonly #agents: Agents;
  readonly #found: (finding: string) => void;
  readonly #graceMs: number;
  readonly #arrived = new Map<string, Arrived>();
  readonly #removedAt = new Map<string, number>();
  readonly #ordered = new Map<string, number>();
  readonly #decided = new Map<string, Freed>();
  readonly #freed: Freed[] = [];

  constructor(
    scene: Scene,
    pods: Pods,
    agents: Agents,
    { graceMs, found }: { readonly graceMs: number; readonly found: (finding: string) => void },
  ) {
    this.#scene = scene;
    this.#pods = pods;
    this.#agents = agents;
    this.#graceMs = graceMs;
    this.#found = found;
  }

  arrives(request: WorkloadReport | AttachmentsRequest): void {
    const age = "ageMs" in request ? request.ageMs : 0;
    const takenAt = this.#scene.world.clockOf(hostObjectName(request.host)) - age;
    const name = nameOf(request);
    const { least, most } = this.#arrived.get(name) ?? { least: takenAt, most: takenAt };
    this.#arrived.set(name, { least: Math.min(least, takenAt), most: Math.max(most, takenAt) });
  }

  removes(host: string): void {
    this.#removedAt.set(host, this.#scene.world.now);
  }

  frees({ block, items }: ReleaseLeakedRequest): ReturnType<CollectorEars["frees"]> {
    const held = loadedTenures(this.#scene.world, blockObject(block))?.held ?? [];
    return (answers) => {
      for (const [place, { address, handle, touch }] of items.entries()) {
        const tenure = held.find((one) => one.address === address && one.touch === touch);
        if (answers[place] !== "released" || tenure?.handle !== handle) continue;
        const { host, sequenceNumber, touchedAt } = tenure;
        const removedAt = this.#removedAt.get(host) ?? Number.NEGATIVE_INFINITY;
        const isOfRemoved = touchedAt <= removedAt + SKEW_MS;
        const freed = { address, handle, sequenceNumber, at: this.#scene.tick(), isOfRemoved };
        // A crash may take it back; the order comes again then.
        this.#decided.set(`${address}#${sequenceNumber}`, freed);
      }
    };
  }

  /** I11: nothing was freed that a pod was told of, before or since, which lived then. */
  check({ blocks }: Snapshot): void {
    if (this.#decided.size > 0) this.#commit(new Set(blocks.flatMap(({ collected }) => collected)));
    for (const { address, sequenceNumber, at, isOfRemoved } of this.#freed) {
      if (isOfRemoved) continue;
      for (const asked of this.#scene.asked) {
        if (asked.ended?.kind !== "ok" || asked.begun > at) continue;
        const told = asked.ended.addresses;
        if (!told.some((one) => one.address === address && one.sequenceNumber === sequenceNumber)) continue;
        const pod = this.#pods.podOf(asked);
        if (pod !== undefined && pod.died > at)
          this.#found(`I11: ${address} was freed, and the pod of ${pod.handle} on ${pod.host} lives`);
      }
    }
  }

  /** What was freed for good is a release like any other. */
  #commit(collected: ReadonlySet<string>): void {
    for (const [name, freed] of this.#decided) {
      if (!collected.has(name)) continue;
      const { address, handle, sequenceNumber, at } = freed;
      this.#decided.delete(name);
      this.#freed.push(freed);
      this.#scene.released.push({
        ...{ what: "release", address, handle, sequenceNumber },
        ...{ begun: at, over: at, ended: { kind: "ok" } },
      });
    }
  }

  /** Told of each request between objects. */
  sees({ method, from, to, args, sender }: Message): void {
    if (method !== "releaseLeaked" || from.className !== "HostObject") return;
    const { world } = this.#scene;
    const { block, items } = args[0] as ReleaseLeakedRequest;
    // What an instance orders that was replaced is on its way, as a late message is.
    const isOld = world.instanceOf(from.objectName) !== sender;
    const held = loadedTenures(world, to.objectName)?.held ?? [];
    for (const { address, handle, touch } of items) {
      const name = `${from.objectName} ${sender} ${block} ${address} ${touch}`;
      const isRepeat = world.now - (this.#ordered.get(name) ?? Number.NEGATIVE_INFINITY) < ORDER_MS;
      this.#ordered.set(name, world.now);
      const holding = held.find((one) => one.address === address && one.touch === touch);
      if (isOld || isRepeat || holding === undefined || holding.handle !== handle) continue;
      const isOwn = hostObjectName(holding.host) === from.objectName;
      this.#judge(holding, isOwn ? 0 : ORDER_MS);
      this.#judgeOthers(holding);
    }
  }

  /** Of a handle all goes or nothing; what was handed out just now nobody can know of. */
  #judgeOthers({ address, handle }: Holding): void {
    const { blocks } = snapshot(this.#scene);
    const others = blocks.flatMap(({ held }) =>
      held.filter((one) => one.handle === handle && one.address !== address),
    );
    const late = this.#scene.world.now - ORDER_MS;
    for (const one of others) if (one.touchedAt <= late) this.#judge(one, ORDER_MS);
  }

  /** Judges an order for one address; what came in the last `lateMs` may not have been heard of. */
  #judge(holding: Holding, lateMs: number): void {
    const { address, host, touchedAt } = holding;
    if (this.#isCovered(holding, lateMs)) return;
    const { reports, attachments } = this.#agents.sent(host);
    const all: Sent[] = [...reports, ...attachments];
    const now = this.#scene.world.now;
    const alive = all.filter((sent) => sent.heard !== undefined && lists(sent, holding) === "alive");
    const binding = alive.filter(({ takenAt }) => takenAt <= now - lateMs);
    const aliveAt = Math.max(Number.NEGATIVE_INFINITY, ...binding.map(({ takenAt }) => takenAt));
    const absent = all
      .filter((sent) => sent.takenAt > aliveAt && lists(sent, holding) === "absent")
      .toSorted((one, other) => one.takenAt - other.takenAt)
      .flatMap((sent) => this.#arrived.get(nameOf(sent.request)) ?? [])
      .filter(({ most }) => most >= touchedAt + SETTLE_MS - SKEW_MS);
    if (isProven(absent, this.#graceMs)) return;
    const since = aliveAt === Number.NEGATIVE_INFINITY ? "" : " since it was called alive";
    const times = absent.map(({ least }) => Math.round((least - touchedAt) / 1_000)).join(", ");
    this.#found(
      `I11: ${address} of ${holding.handle} on ${host} is to be freed on ${absent.length} reports${since},` +
        ` taken ${times || "no"} s after it was given`,
    );
  }

  /** Whether the host was removed after the last touch, so that nothing there needs to be looked for. */
  #isCovered({ host, touchedAt }: Holding, lateMs: number): boolean {
    const { world } = this.#scene;
    const removedAt = this.#removedAt.get(host) ?? Number.NEGATIVE_INFINITY;
    if (lateMs > 0 && touchedAt <= removedAt + SKEW_MS) return true;
    const row = world.rows(hostObjectName(host), "SELECT registration FROM host WHERE id = 1")[0];
    const { gone } = JSON.parse(String(row?.registration ?? "{}")) as { gone?: { since: number } };
    return gone !== undefined && touchedAt < gone.since;
  }
}

/** Two pieces lie more than the grace apart, and a third came after them. */
function isProven(inOrder: readonly Arrived[], graceMs: number): boolean {
  return inOrder.slice(0, -1).some(({ most }, at) => {
    return inOrder.slice(0, at).some(({ least }) => most - least > graceMs);
  });
}

function nameOf(request: WorkloadReport | AttachmentsRequest): string {
  if (!("sequence" in request)) return JSON.stringify(request);
  return `${request.host} ${request.incarnation} ${request.sequence}`;
}

/** What a piece says of an address, by itself. */
function lists({ request }: Sent, holding: Holding): "alive" | "absent" | "nothing" {
  const { address, handle } = holding;
  const owners = namedOwners(holding);
  if ("validHandles" in request) {
    if (request.validHandles.includes(handle)) return "alive";
    return handle.startsWith(`${NETWORK}.`) ? "absent" : "nothing";
  }
  const isMeant = (one: ReportedWorkload): boolean =>
    one.handle === handle ||
    one.addresses.includes(address) ||
    (one.addresses.length === 0 &&
      owners.some(({ namespace, pod }) => namespace === one.namespace && pod === one.pod));
  if (request.workloads.some(isMeant)) return "alive";
  return request.complete ? "absent" : "nothing";
}
