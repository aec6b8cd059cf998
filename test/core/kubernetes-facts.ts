/** A source of the fake API server under a clock that only moves when nothing else can go on. */
import { type KubernetesOptions, kubernetesSource } from "../../src/gc/kubernetes.ts";
import type { ClusterSource } from "../../src/rpc/cluster-source.ts";
import { ApiServer } from "../support/api-server.ts";
import { fetchFrom } from "../support/api-server-http.ts";

/** How often the event loop turns before it is believed that nothing goes on. */
const TURNS = 5;

export class Clock {
  #now = 1_000_000;
  readonly #timers = new Set<{ readonly at: number; readonly fire: () => void }>();

  readonly now = (): number => this.#now;

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((settle, fail) => {
      const timer = { at: this.#now + ms, fire: settle };
      this.#timers.add(timer);
      signal?.addEventListener("abort", () => {
        this.#timers.delete(timer);
        fail(new Error("aborted"));
      });
    });

  advance(ms: number): void {
    this.#now += ms;
  }

  /** Waits for it; moves the clock to the next timer whenever nothing else goes on. */
  async run<T>(begun: Promise<T>): Promise<T> {
    let isOver = false;
    const ended = begun.finally(() => {
      isOver = true;
    });
    ended.catch(() => undefined);
    for (let turn = 1; !isOver; turn += 1) {
      await new Promise((settle) => setImmediate(settle));
      if (isOver || turn % TURNS !== 0) continue;
      const next = [...this.#timers].sort((one, other) => one.at - other.at)[0];
      if (next === undefined) throw new Error("nothing goes on, and nothing is waited for");
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
    }
    return await ended;
  }
}

export interface Stage {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly source: ClusterSource;
}

export function stage(given: Partial<KubernetesOptions> = {}): Stage {
  const api = new ApiServer();
  const clock = new Clock();
  const { now, sleep } = clock;
  const source = kubernetesSource({
    fetch: fetchFrom(api, sleep),
    url: "https://10.96.0.1",
    now,
    sleep,
    ...given,
    limits: { pageSizes: [3, 2], ...given.limits },
  });
  return { api, clock, source };
}

/** Seven pods on node n, in three pages, and one on another node. */
export function withPods(given: Parameters<typeof stage>[0] = {}): Stage {
  const made = stage(given);
  for (let number = 0; number < 7; number += 1) {
    made.api.putPod("web", `api-${number}`, "n", [`10.0.0.${number}`, `fd00::${number}`]);
  }
  made.api.putPod("web", "other", "m", ["10.0.1.1"]);
  return made;
}

/** Names of pods, as listed. */
export const namesOf = (pods: readonly { readonly name: string }[]): string[] => pods.map(({ name }) => name);
