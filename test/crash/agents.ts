/**
 * Pods that come and go, and node agents that tell the truth about them while the service is killed.
 * May import: the recorder. Rule: a pod that ends is released by nobody; what is reported was looked at just now.
 */
import { pause, type Recorder } from "../http/load/recorder.ts";
import type { Tenure } from "../support/history.ts";
import type { HttpClient } from "../support/http-client.ts";
import { capOf, type Ground } from "./ground.ts";

/** Pods of one host: fewer than would look implausible if all of them were gone. */
const PODS_MAX = 8;
const NETWORK = "pods";
const TRIES = 40;

interface Pod {
  readonly host: string;
  readonly handle: string;
  got: readonly Tenure[];
}

/** What an agent remembers: its life, how many reports it has made in it, and the last one. */
interface Agent {
  life: number;
  sequence: number;
  last?: object;
}

export class Agents {
  readonly #recorder: Recorder;
  readonly #client: HttpClient;
  readonly #ground: Ground;
  readonly #hosts: readonly string[];
  readonly #random: () => number;
  readonly #agents = new Map<string, Agent>();
  readonly #alive = new Set<Pod>();
  readonly #gone: Pod[] = [];
  #count = 0;

  /** Agents run on hosts that no operator removes. */
  constructor(recorder: Recorder, client: HttpClient, ground: Ground, random: () => number) {
    this.#recorder = recorder;
    this.#client = client;
    this.#ground = ground;
    this.#hosts = ground.hosts.filter((host) => !ground.movable.includes(host));
    this.#random = random;
  }

  /** Pods start and end, agents report, until it is over. */
  async run(isOver: () => boolean): Promise<void> {
    const rounds = [() => this.#step(), () => this.#report(), () => this.#sweep()];
    await Promise.all(
      rounds.map(async (round) => {
        while (!isOver()) {
          await round();
          await pause(this.#random() * 150);
        }
      }),
    );
  }

  /** All agents report, one after the other, to a service that lives. */
  async reportAll(): Promise<void> {
    for (const host of this.#hosts) {
      for (let left = TRIES; left > 0; left -= 1) {
        if ((await this.#reportOf(host)) === 200) break;
      }
    }
  }

  /** Pods that ended and still have an address at the end, and those that live and have lost theirs. */
  violations(final: readonly Tenure[]): string[] {
    const held = Map.groupBy(final, ({ handle }) => handle);
    const numbers = new Set(final.map(({ address, sequenceNumber }) => `${address} ${sequenceNumber}`));
    const left = this.#gone.flatMap(({ handle, host }) =>
      (held.get(handle) ?? []).map(({ address }) => `leak: ${address} of ${handle} on ${host} is still held`),
    );
    const lost = [...this.#alive].flatMap(({ handle, host, got }) =>
      got
        .filter(({ address, sequenceNumber }) => !numbers.has(`${address} ${sequenceNumber}`))
        .map(({ address }) => `I11: ${address} of ${handle} on ${host} is not held, and its pod lives`),
    );
    return [...left, ...lost];
  }

  get counts(): { readonly alive: number; readonly gone: number } {
    return { alive: this.#alive.size, gone: this.#gone.length };
  }

  /** A pod starts or ends; it lives from before its request, whatever becomes of that. */
  async #step(): Promise<void> {
    const host = this.#hosts[Math.floor(this.#random() * this.#hosts.length)] ?? "";
    const here = [...this.#alive].filter((pod) => pod.host === host);
    const [oldest] = here;
    if (oldest !== undefined && (here.length >= PODS_MAX || this.#random() < 0.4)) {
      this.#alive.delete(oldest);
      this.#gone.push(oldest);
      this.#recorder.vanished(oldest.handle);
      return;
    }
    this.#count += 1;
    const handle = `${NETWORK}.${this.#count}`;
    const pod: Pod = { host, handle, got: [] };
    this.#alive.add(pod);
    const attributes = { namespace: "crash", pod: handle };
    const more = { ...capOf(this.#ground, host), attributes, ipv4: { count: 1, pools: ["wide"] } };
    const wish = { host, handle, key: `pod-${this.#count}-crash`, more };
    pod.got = (await this.#recorder.allocateSurely(wish, TRIES)).got;
  }

  /** One agent reports; now and then it has begun a new life, or a list is cut short, or comes twice. */
  async #report(): Promise<void> {
    const host = this.#hosts[Math.floor(this.#random() * this.#hosts.length)] ?? "";
    const agent = this.#agent(host);
    const dice = this.#random();
    if (dice < 0.05) {
      agent.life += 1;
      agent.sequence = 0;
      const incarnation = `${agent.life}`;
      await this.#send("agent registered", "PUT", `/v1/hosts/${host}`, { labels: {}, incarnation });
    } else if (dice < 0.15 && agent.last !== undefined) {
      await this.#send("report again", "PUT", `/v1/hosts/${host}/workloads`, agent.last);
    } else if (dice < 0.3) {
      const validHandles = [...this.#alive].filter((pod) => pod.host === host).map(({ handle }) => handle);
      const body = { network: NETWORK, validHandles };
      await this.#send("attachments", "POST", `/v1/hosts/${host}/attachment-gc`, body);
    } else {
      await this.#reportOf(host, dice < 0.4 ? this.#random() : undefined);
    }
  }

  /** With a share only so many of the pods are listed, and the report says that it is cut short. */
  async #reportOf(host: string, share?: number): Promise<number> {
    const agent = this.#agent(host);
    agent.sequence += 1;
    const here = [...this.#alive].filter((pod) => pod.host === host);
    const listed = share === undefined ? here : here.slice(0, Math.floor(here.length * share));
    const workloads = listed.map(({ handle, got }, at) => ({
      ...(at % 2 === 0 || got.length === 0 ? { handle } : {}),
      ...{ namespace: "crash", pod: handle },
      addresses: got.map(({ address }) => address),
    }));
    const { life, sequence } = agent;
    const complete = share === undefined;
    agent.last = { incarnation: `${life}`, sequence, ageMs: 0, complete, workloads };
    return await this.#send("report", "PUT", `/v1/hosts/${host}/workloads`, agent.last);
  }

  async #sweep(): Promise<void> {
    await this.#send("sweep", "POST", "/v1/gc/sweeps");
    await pause(1_000);
  }

  /** Sends once: what is repeated after a restart would be older than it says. */
  async #send(what: string, method: string, path: string, body?: object): Promise<number> {
    const answer = await this.#client.send(method, path, body).catch(() => undefined);
    const { status = 0, body: told } = answer ?? {};
    const how = status === 0 ? "lost" : status < 300 ? "ok" : (told?.code ?? `${status}`);
    this.#recorder.note(`${what} ${how}`);
    return status;
  }

  #agent(host: string): Agent {
    const known = this.#agents.get(host) ?? { life: 0, sequence: 0 };
    this.#agents.set(host, known);
    return known;
  }
}
