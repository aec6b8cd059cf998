/**
 * Which pods live on which host: the truth that agents tell of, and that no object knows.
 * May import: types of the scene. Rule: whoever asks for a handle on a host is a pod of it, which lives from before
 * its first request until it is ended, whatever it is answered.
 */
import type { Asked, Told } from "../scene.ts";

/** Units: `born` and `died` count events of the history, `bornAt` is virtual time. */
export interface Pod {
  readonly host: string;
  readonly handle: string;
  readonly born: number;
  readonly asked: Asked[];
  died: number;
  /** Its owners were changed by hand: its name no longer finds its addresses. */
  isRenamed: boolean;
}

const NEVER = Number.POSITIVE_INFINITY;
export const NAMESPACE = "n";

/** The name of a host's pod under a handle. */
export function podName(host: string, handle: string): string {
  return `${handle}-on-${host}`;
}

export class Pods {
  readonly #live = new Map<string, Pod>();
  readonly #podOf = new Map<Asked, Pod>();
  /** Handles whose owners were changed: a pod that repeats a request of one is told what is another's by name. */
  readonly #renamed = new Set<string>();
  readonly #tick: () => number;

  constructor(tick: () => number) {
    this.#tick = tick;
  }

  /** A request is the sign of a pod that lives. */
  asks(asked: Asked): void {
    const { host, handle, begun } = asked;
    const name = podName(host, handle);
    let pod = this.#live.get(name);
    if (pod === undefined) {
      pod = { host, handle, born: begun, asked: [], died: NEVER, isRenamed: this.#renamed.has(handle) };
      this.#live.set(name, pod);
    }
    pod.asked.push(asked);
    this.#podOf.set(asked, pod);
  }

  /** Pods that live, of one host or of all. */
  alive(host?: string): Pod[] {
    return [...this.#live.values()].filter((pod) => host === undefined || pod.host === host);
  }

  /** Ends the pods of a host, of a handle, or of both. */
  end({ host, handle }: { readonly host?: string; readonly handle?: string }): void {
    const died = this.#tick();
    for (const [name, pod] of this.#live) {
      if ((host !== undefined && pod.host !== host) || (handle !== undefined && pod.handle !== handle))
        continue;
      pod.died = died;
      this.#live.delete(name);
    }
  }

  rename(handle: string): void {
    this.#renamed.add(handle);
    for (const pod of this.#live.values()) if (pod.handle === handle) pod.isRenamed = true;
  }

  isAlive(host: string, handle: string): boolean {
    return this.#live.has(podName(host, handle));
  }

  podOf(asked: Asked): Pod | undefined {
    return this.#podOf.get(asked);
  }
}

/** What a pod was told that it has, since it lives. */
export function toldTo({ asked }: Pod): Told[] {
  return asked.flatMap(({ ended }) => (ended?.kind === "ok" ? ended.addresses : []));
}

/** Whether a pod may have more than it was told of. */
export function isWaiting({ asked }: Pod): boolean {
  return asked.some(({ ended }) => ended?.kind !== "ok");
}
