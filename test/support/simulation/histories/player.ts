/**
 * Does the operations of a plan to a deployment, as clients and operators would, and says what came of each.
 * May import: the simulation, src. Rule: whatever fails, nothing here throws.
 */
import type { Result } from "../../../../src/core/result.ts";
import type { Fleet } from "../collector/fleet.ts";
import { changeOwner, claimBlock, giveUpBlocks, setOwners } from "../operators.ts";
import type { Asked, Ended, Scene, Told } from "../scene.ts";
import type { Watch } from "../watch.ts";
import { FleetPlayer } from "./fleet-player.ts";
import type { Operation, Owners, Wish } from "./plan.ts";
import { PolicyWriter } from "./policy-writer.ts";

/** Of the latest requests, how many a repeat or a release may mean. */
const RECENT = { requests: 12, owners: 8, addresses: 20 };

/** Pools as a plan names them. */
export const POOLS = {
  v4: { cidr: "10.0.0.0/28", blockSize: 30 },
  other: { cidr: "10.0.1.0/29", blockSize: 30 },
  v6: { cidr: "fd00::/125", blockSize: 126 },
};

/** Told each line of what happens. */
export type Line = (text: string) => void;

export class Player {
  readonly policy: PolicyWriter;
  readonly #scene: Scene;
  readonly #watch: Watch;
  readonly #line: Line;
  readonly #fleet: FleetPlayer;

  constructor(scene: Scene, watch: Watch, line: Line, fleet: Fleet) {
    this.#scene = scene;
    this.#watch = watch;
    this.#line = line;
    this.policy = new PolicyWriter(scene, watch, line);
    const tell = (what: string, answer: Promise<string[]>, details: string) =>
      this.#tell(what, answer, details);
    this.#fleet = new FleetPlayer(scene, fleet, tell);
  }

  /** Begins one operation; nothing moves before the world is run. */
  play(operation: Operation): void {
    switch (operation.do) {
      case "allocate":
        for (const wish of operation.wishes) this.#allocate(operation.host, wish);
        break;
      case "batch":
        this.#batch(operation.host, operation.wishes);
        break;
      case "repeat":
        this.#repeat(operation.pick);
        break;
      case "assign":
        this.#follow(this.#scene.assign(operation.host, operation.handle, operation.address));
        break;
      case "release handle":
        this.#releaseHandle(operation.handle);
        break;
      case "release address":
        this.#releaseAddress(operation);
        break;
      case "claim block":
      case "give up blocks":
      case "change owners":
        this.#operate(operation);
        break;
      case "set cooldown":
      case "set strict":
      case "reserve":
      case "disable":
        this.policy.change(operation);
        break;
      case "drain":
      case "cancel drain":
      case "split":
      case "make pool":
        this.#changePool(operation);
        break;
      case "remove host":
      case "register host":
        this.#changeHost(operation.do, operation.host);
        break;
      case "evict":
        this.#scene.world.evict(pickOf(this.#scene.world.objectNames, operation.pick) as string);
        break;
      default:
        this.#fleet.play(operation);
    }
  }

  #allocate(host: string, wish: Wish): void {
    this.#follow(this.#scene.allocate(host, wish));
  }

  /** One message of several requests: a client's batch, or, of an odd number, what a Worker has gathered. */
  #batch(host: string, wishes: readonly Wish[]): void {
    const from = this.#scene.asked.length;
    const isGathered = wishes.length % 2 === 1;
    const answers = isGathered
      ? this.#scene.allocateTogether(host, wishes)
      : this.#scene.allocateMany(host, wishes);
    for (const [at, answer] of answers.entries()) {
      this.#followOne(this.#scene.asked[from + at] as Asked, answer, isGathered ? "together" : "batch");
    }
  }

  /** The same request with its key once more: after a failure, or as a replay. */
  #repeat(pick: number): void {
    const requests = this.#scene.asked.filter(({ what }) => what === "allocate");
    const asked = pickOf(requests.slice(-RECENT.requests), pick);
    if (asked === undefined) return;
    this.#watch.count(asked.ended?.kind === "ok" ? "repeated after an answer" : "repeated without an answer");
    this.#follow(this.#scene.again(asked));
  }

  #releaseHandle(handle: string): void {
    this.#tell(
      "release handle",
      this.#scene.release(handle).then((ended) => [ended?.code ?? ended?.kind ?? "unknown"]),
      handle,
    );
  }

  #releaseAddress({ pick, guard }: Extract<Operation, { do: "release address" }>): void {
    const one = pickOf(this.#told().slice(-RECENT.addresses), pick);
    if (one === undefined) return;
    const { asked, told } = one;
    const { address, block, sequenceNumber } = told;
    const guards = {
      number: { sequenceNumber },
      handle: { handle: asked.handle },
      stranger: { handle: "stranger" },
      nothing: { force: true },
    }[guard];
    const answer = this.#scene.releaseAddress(block, { address, ...guards });
    this.#tell(
      `release address by ${guard}`,
      answer.then((outcome) => [outcome?.kind ?? "unknown"]),
      address,
    );
  }

  /** What operators and migrations do. */
  #operate(operation: Extract<Operation, { do: "claim block" | "give up blocks" | "change owners" }>): void {
    if (operation.do === "claim block") {
      const { host, block } = operation;
      this.#tell("claim block", claimBlock(this.#scene, host, "v4", block), `${block} for ${host}`);
    } else if (operation.do === "give up blocks") {
      const { host, mustBeEmpty } = operation;
      const how = mustBeEmpty ? "if empty" : "by force";
      this.#tell(`give up ${how}`, giveUpBlocks(this.#scene, host, mustBeEmpty), host);
    } else {
      this.#changeOwners(operation.pick, operation.owners);
    }
  }

  #changeOwners(pick: number, { active, alternate, change, pod }: Owners): void {
    const one = pickOf(this.#told().slice(-RECENT.owners), pick);
    if (one === undefined) return;
    const { handle } = one.asked;
    this.#fleet.renamed(handle);
    const owner = { namespace: "n", pod };
    const wish = { handle, change, owner, releaseWhenUnowned: false };
    const set = setOwners(this.#scene, { ...one.told, handle }, { active, alternate });
    this.#tell("owners set", set);
    this.#tell(
      `owner ${change}`,
      set.then(() => changeOwner(this.#scene, wish)),
    );
  }

  #changePool(operation: Extract<Operation, { do: "drain" | "cancel drain" | "split" | "make pool" }>): void {
    const cluster = this.#scene.deployed.ports.cluster();
    const by = "test";
    if (operation.do === "make pool") {
      const { pool: name, blockSize } = operation;
      const spec = { cidr: POOLS[name].cidr, blockSize };
      const made = cluster.putPool({ name, spec, by, mustNotExist: true });
      this.#tell("make pool", codeOf(made), `${name} of blocks /${blockSize}`);
      return;
    }
    const name = pickOf(this.policy.endable, operation.pick);
    if (name === undefined) return;
    const changes = {
      drain: () => cluster.drainPool({ name, by }),
      "cancel drain": () => cluster.patchPool({ name, patch: { draining: false }, by }),
      split: () => cluster.splitPool({ name, parts: 2, by }),
    };
    this.#tell(operation.do, codeOf(changes[operation.do]()), name);
  }

  #changeHost(what: "remove host" | "register host", host: string): void {
    const port = this.#scene.deployed.ports.host(host);
    if (what === "remove host") {
      this.#fleet.removed(host);
      const removed = port.remove({ host }).then(({ view }) => [view?.state ?? "unregistered"]);
      this.#tell(
        what,
        removed.catch(() => ["unknown"]),
        host,
      );
      return;
    }
    const incarnation = this.#fleet.registers(host);
    this.#tell(what, codeOf(port.register({ host, labels: {}, incarnation })), host);
  }

  /** Every address that a client was told of, with the request that got it. */
  #told(): { readonly asked: Asked; readonly told: Told }[] {
    return this.#scene.asked.flatMap((asked) =>
      asked.ended?.kind === "ok" ? asked.ended.addresses.map((told) => ({ asked, told })) : [],
    );
  }

  #follow(answer: Promise<Ended>): void {
    this.#followOne(this.#scene.asked.at(-1) as Asked, answer);
  }

  #followOne(asked: Asked, answer: Promise<Ended>, how = ""): void {
    const { what, host, handle, key, counts } = asked;
    this.#line(`${how} ${what} ${key}: ${host} for ${handle}, IPv4 ${counts[4]}, IPv6 ${counts[6]}`.trim());
    void answer.then((ended) => {
      this.#watch.count(`answer ${ended.kind === "refused" ? ended.code : ended.kind}`);
      if (ended.kind === "ok" && ended.reused) this.#watch.count("answer reused");
      const got = ended.kind === "ok" ? ended.addresses.map(text).join(" ") : "";
      this.#line(`  ${key}: ${ended.kind === "refused" ? ended.code : ended.kind} ${got}`.trimEnd());
    });
  }

  /** Counts what came of an operation, by the words before its details. */
  #tell(what: string, answer: Promise<string[]>, details = ""): void {
    this.#line(`${what} ${details}`.trimEnd());
    void answer.then((told) => {
      for (const one of told) this.#watch.count(`${what}: ${one}`);
      this.#line(`  ${what} ${details}: ${told.join(" ")}`);
    });
  }
}

function pickOf<T>(list: readonly T[], share: number): T | undefined {
  return list[Math.floor(share * list.length)];
}

async function codeOf(answer: Promise<Result<unknown, { code: string }>>): Promise<string[]> {
  const result = await answer.catch(() => undefined);
  if (result === undefined) return ["unknown"];
  return [result.ok ? "done" : result.error.code];
}

function text({ address, sequenceNumber }: Told): string {
  return `${address}#${sequenceNumber}`;
}
