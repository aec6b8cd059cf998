/**
 * One object as the deployment knows it: what survives its instances, and which of them lives.
 * May import: the simulation's own modules.
 */
import type { Chance } from "./chance.ts";
import type { Counters } from "./counters.ts";
import { ObjectDatabase } from "./database.ts";
import { type CrashPoint, Instance, type InstanceHost } from "./instance.ts";
import type { Endpoint, Message, Outcome } from "./messages.ts";
import type { Network } from "./network.ts";
import type { FaultName } from "./platform-fault.ts";
import type { Random } from "./random.ts";
import { type Job, type Label, type Scheduler, textOf } from "./scheduler.ts";

/** Faults of instances that happen by chance, drawn at the end of a turn. */
export interface InstanceFaults {
  /** At a turn that wrote: lose the writes and the instance. */
  crashBeforeCommit?: number;
  /** At a turn that wrote: keep the writes, lose the instance and what it would have sent. */
  crashAfterCommit?: number;
  /** At any turn: lose the memory, when no event is in progress. */
  evict?: number;
  /** At any turn: a new instance takes over, the old one lives on until it touches the storage. */
  supersede?: number;
}

/** A crash that a script asked for. */
export interface PlannedCrash {
  point: CrashPoint;
  /** Only in a turn whose trace line contains this text, e.g. a method. */
  during?: string;
}

/** What all objects of a world share. */
export interface Shared {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly chance: Chance;
  readonly counters: Counters;
  readonly network: Network;
  instanceFaults: InstanceFaults;
  construct(record: ObjectRecord, instance: Instance, ctx: object): object;
}

const ALARM_RETRIES_MAX = 6;
const ALARM_RETRY_MS = 2_000;

export class ObjectRecord implements InstanceHost {
  readonly place: Endpoint;
  readonly database: ObjectDatabase;
  readonly scheduler: Scheduler;
  readonly #shared: Shared;
  readonly #alive = new Set<Instance>();
  readonly #planned: PlannedCrash[] = [];
  readonly #alarmLabel: Label;
  #current: Instance | undefined;
  #generation = 0;
  #clockOffset: number;
  #alarmJob: Job | undefined;
  /** The alarm whose handler runs, to be restored when the handler is cut off. */
  #firing: { instance: Instance; time: number; retries: number } | undefined;

  constructor(place: Endpoint, shared: Shared, clockOffset: number) {
    this.place = place;
    this.database = new ObjectDatabase(place.className);
    this.#alarmLabel = { sort: `alarm of ${place.objectName}` };
    this.scheduler = shared.scheduler;
    this.#shared = shared;
    this.#clockOffset = clockOffset;
  }

  /** Milliseconds since 1970 by this object's clock. */
  now(): number {
    return Math.floor(this.scheduler.now + this.#clockOffset);
  }

  set clockOffset(offset: number) {
    this.#clockOffset = offset;
    this.#planAlarm();
  }

  get current(): Instance | undefined {
    return this.#current;
  }

  /** The number of the instance that a new message is bound to, if one lives. */
  get bound(): number | undefined {
    return this.#current?.generation;
  }

  get unfinishedEvents(): string[] {
    return [...this.#alive].flatMap((instance) => instance.unfinishedEvents);
  }

  get unfinished(): number {
    let count = 0;
    for (const instance of this.#alive) count += instance.unfinished;
    return count;
  }

  /** Hands a request to the instance it was bound to, if that one still lives, else to the current one. */
  receive(message: Message): void {
    const bound = [...this.#alive].find((instance) => instance.generation === message.bound);
    (bound ?? this.#live()).request(message);
  }

  planCrash(crash: PlannedCrash): void {
    this.#planned.push(crash);
  }

  /** Ends all instances: memory is lost, committed rows stay. */
  evict(fault: FaultName | "silent" = "reset"): void {
    for (const instance of [...this.#alive]) instance.kill(fault);
  }

  /** Drops the alarm for good, and with it what would fire; memory is lost. */
  loseAlarm(): void {
    this.evict("silent");
    this.database.replaceAlarm(null);
    this.#planAlarm();
  }

  /** Puts a new instance in the place of the current one, which lives on. */
  supersede(storage: "fenced" | "shared"): Instance {
    const old = this.#live();
    old.state = "superseded";
    old.isFenced = storage === "fenced";
    this.#current = undefined;
    this.#restoreAlarm(old);
    return old;
  }

  construct(instance: Instance, ctx: object): object {
    return this.#shared.construct(this, instance, ctx);
  }

  send(message: Message): void {
    this.#shared.network.send(message);
  }

  openCall(settle: (outcome: Outcome) => void): number {
    return this.#shared.network.open(settle);
  }

  failCall(message: Message, fault: FaultName): void {
    this.#shared.network.fail(message, fault);
  }

  crashAt(label: Label, isDirty: boolean): CrashPoint | undefined {
    const at = this.#planned.findIndex(({ point, during }) => {
      const isCommit = isDirty || point === "after-send";
      return isCommit && (during === undefined || textOf(label).includes(during));
    });
    const planned = this.#planned[at];
    if (planned !== undefined) {
      this.#planned.splice(at, 1);
      this.#shared.counters.event(`crash ${planned.point}`);
      return planned.point;
    }
    return this.#crashByChance(label, isDirty);
  }

  committed(rows: number): void {
    this.#shared.counters.commit(this.place.objectName, rows);
    this.#planAlarm();
  }

  turnEnded(instance: Instance): void {
    const { chance, counters, instanceFaults } = this.#shared;
    const { supersede = 0 } = instanceFaults;
    if (instance !== this.#current || supersede === 0) return;
    if (!chance.at(`turn of ${this.place.objectName}`).fault("superseded", supersede)) return;
    counters.event("supersede");
    this.supersede("fenced");
  }

  died(instance: Instance): void {
    this.#alive.delete(instance);
    if (this.#current === instance) this.#current = undefined;
    this.#restoreAlarm(instance);
  }

  alarmDone(instance: Instance, failed: boolean): void {
    const firing = this.#firing;
    if (firing?.instance !== instance) return;
    this.#firing = undefined;
    if (!failed || this.database.alarm !== null) {
      this.#planAlarm();
      return;
    }
    if (firing.retries >= ALARM_RETRIES_MAX) {
      this.#shared.counters.event("alarm dropped");
      return;
    }
    const retries = firing.retries + 1;
    const again = this.now() + ALARM_RETRY_MS * 2 ** firing.retries;
    this.database.replaceAlarm(again);
    this.#planAlarm(retries);
  }

  #crashByChance({ sort }: Label, isDirty: boolean): CrashPoint | undefined {
    const { chance, counters, instanceFaults } = this.#shared;
    const { crashBeforeCommit = 0, crashAfterCommit = 0, evict = 0 } = instanceFaults;
    if (crashBeforeCommit + crashAfterCommit + evict === 0) return undefined;
    const luck = chance.at(`${this.place.objectName} after ${sort}`);
    if (isDirty && luck.fault("crash before commit", crashBeforeCommit)) {
      counters.event("crash before-commit");
      return "before-commit";
    }
    if (isDirty && luck.fault("crash after commit", crashAfterCommit)) {
      counters.event("crash after-commit");
      return "after-commit";
    }
    if (this.unfinished === 0 && luck.fault("evicted", evict)) {
      counters.event("evict");
      return "after-send";
    }
    return undefined;
  }

  #live(): Instance {
    if (this.#current === undefined) {
      this.#current = new Instance(this, ++this.#generation);
      this.#alive.add(this.#current);
    }
    return this.#current;
  }

  /** An alarm counts as run only when its handler has ended. */
  #restoreAlarm(instance: Instance): void {
    if (this.#firing?.instance !== instance) return;
    const { time, retries } = this.#firing;
    this.#firing = undefined;
    if (this.database.alarm === null) this.database.replaceAlarm(time);
    this.#planAlarm(retries);
  }

  #planAlarm(retries = 0): void {
    // An alarm that is set while a handler runs waits for its end, as on the platform.
    if (this.#firing !== undefined) return;
    const time = this.database.alarm;
    const due = time === null ? undefined : Math.max(time - this.#clockOffset, this.scheduler.now);
    // The same due time keeps its job, and with it the count of retries.
    if (this.#alarmJob?.cancelled === false && this.#alarmJob.at === due) return;
    this.scheduler.cancel(this.#alarmJob);
    if (time === null || due === undefined) return;
    this.#alarmJob = this.scheduler.at(due, "alarm", this.#alarmLabel, () => {
      const instance = this.#live();
      this.#firing = { instance, time, retries };
      this.database.replaceAlarm(null);
      instance.alarm(retries);
    });
  }
}
