/**
 * All objects of a world by name, made when first addressed, and what their runtimes are made of.
 * May import: the simulation's own modules.
 */
import type { EndSignal } from "../../../src/platform/call.ts";
import { breakable } from "./client.ts";
import { isRetryable } from "./cloudflare-durable-objects.ts";
import type { Instance } from "./instance.ts";
import type { Endpoint } from "./messages.ts";
import type { Random } from "./random.ts";
import { type InstanceFaults, ObjectRecord, type Shared } from "./record.ts";
import { SimulationError } from "./scheduler.ts";

/** An object class: state, environment and runtime are the simulation's. */
export type ObjectClass = abstract new (ctx: never, env: never, runtime: never) => object;

/** What the runtime of one instance is made of. */
export interface Place extends Endpoint {
  /** Milliseconds since 1970 by the object's own clock; stands still within a turn. */
  now(): number;
  sleep(ms: number, signal?: EndSignal): Promise<void>;
  unique(): string;
  random(): number;
  /** Another object, as this instance calls it. */
  stub<T extends object>(objectName: string): T;
}

/** How objects are made. */
export interface Making {
  /** By class name, as the objects are exported. */
  classes: Record<string, ObjectClass>;
  /** Makes the third constructor argument, once per instance. */
  runtime?: (place: Place) => unknown;
  env?: unknown;
  /** Milliseconds that an object's clock is ahead of virtual time. */
  clockOffset?: (place: Endpoint, random: Random) => number;
  /** Class of an object name; by default `handle-index:…` is `HandleIndexObject`. */
  classOf?: (objectName: string) => string;
}

export class Objects {
  readonly #records = new Map<string, ObjectRecord>();
  readonly #shared: Shared;
  readonly #making: Making;
  #unique = 0;

  constructor(shared: Omit<Shared, "construct">, making: Making) {
    const construct: Shared["construct"] = (...given) => this.#construct(...given);
    this.#shared = { ...shared, construct };
    this.#making = making;
  }

  set faults(faults: InstanceFaults) {
    this.#shared.instanceFaults = faults;
  }

  get all(): Iterable<ObjectRecord> {
    return this.#records.values();
  }

  /** Does any event of any instance still run? */
  get hasUnfinished(): boolean {
    for (const record of this.#records.values()) if (record.unfinished > 0) return true;
    return false;
  }

  /** The object of a name; addressing it makes its record, not an instance. */
  record(objectName: string): ObjectRecord {
    const known = this.#records.get(objectName);
    if (known !== undefined) return known;
    const className = (this.#making.classOf ?? classOfName)(objectName);
    if (this.#making.classes[className] === undefined) {
      throw new SimulationError(`no class ${className} for the object ${objectName}`);
    }
    const place = { className, objectName };
    const offset = this.#making.clockOffset?.(place, this.#shared.random) ?? 0;
    const made = new ObjectRecord(place, this.#shared, offset);
    this.#records.set(objectName, made);
    return made;
  }

  isRetryable(to: Endpoint, method: string): boolean {
    const { prototype } = this.#making.classes[to.className] as { prototype: Record<string, unknown> };
    return isRetryable(prototype[method]);
  }

  #construct(record: ObjectRecord, instance: Instance, ctx: object): object {
    const { classes, runtime, env } = this.#making;
    const place: Place = {
      ...record.place,
      now: () => record.now(),
      sleep: (ms, signal) => instance.sleep(ms, signal),
      unique: () => `unique-${++this.#unique}`,
      random: () => this.#shared.random.next(),
      stub: (objectName) => {
        const target = this.record(objectName);
        return breakable((method, args) => instance.call(target.place, target.bound, method, args));
      },
    };
    const Class = classes[record.place.className] as new (...given: unknown[]) => object;
    return new Class(ctx, env ?? {}, runtime?.(place) ?? place);
  }
}

function classOfName(objectName: string): string {
  const kind = objectName.split(":")[0] ?? "";
  const words = kind.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join("")}Object`;
}
