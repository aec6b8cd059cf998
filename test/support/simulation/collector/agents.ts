/**
 * Node agents and container runtimes that tell the truth about the pods of their hosts, over a bad network.
 * May import: the simulation, src/rpc. Rule: what is cut short says so, what is sent late states its age, and a
 * copy never comes later than an allocation is young.
 */
import { SETTLE_MS } from "../../../../src/core/leak-evidence.ts";
import type { ReportedWorkload } from "../../../../src/core/leak-report.ts";
import type { AttachmentsRequest, WorkloadReport } from "../../../../src/rpc/leaks.ts";
import type { Scene } from "../scene.ts";
import type { Watch } from "../watch.ts";
import { isWaiting, NAMESPACE, type Pod, type Pods, podName, toldTo } from "./pods.ts";

/** The network of handles that container runtimes speak of. */
export const NETWORK = "net";

/**
 * How a report is made. `cut`: it lists some of the pods, and says so; `empty`: none, and says so; `held`:
 * it is kept for a while before it is sent; `by handle`: pods are known by nothing else.
 */
export type ReportStyle = "whole" | "cut" | "empty" | "held" | "by handle";

/** One report as it left. Units: `sentAt` in virtual milliseconds; `heard` counts events. */
export interface SentReport {
  readonly request: WorkloadReport;
  readonly takenAt: number;
  /** When it was acknowledged as taken in; absent: it was not, as far as the agent knows. */
  heard?: number;
}

export interface SentAttachments {
  readonly request: AttachmentsRequest;
  readonly takenAt: number;
  heard?: number;
}

interface Agent {
  boots: number;
  bootedAt: number;
  sequence: number;
  readonly reports: SentReport[];
  readonly attachments: SentAttachments[];
}

/** How late a copy may be, and how many of the last reports may be sent again. */
const COPY_LATE_MS = SETTLE_MS - 20_000;
const COPIED = 8;
/** No host boots twice while a message of its first life may be under way, ms. */
const BOOT_MS = 10_000;
/** How long a container runtime waits, ms. */
const PATIENCE_MS = 20_000;

export class Agents {
  readonly #scene: Scene;
  readonly #pods: Pods;
  readonly #watch: Watch;
  readonly #agents = new Map<string, Agent>();

  constructor(scene: Scene, pods: Pods, watch: Watch) {
    this.#scene = scene;
    this.#pods = pods;
    this.#watch = watch;
  }

  incarnation(host: string): string {
    return `${host}-boot-${this.#agent(host).boots}`;
  }

  /** All that was sent for a host. */
  sent(host: string): Pick<Agent, "reports" | "attachments"> {
    return this.#agent(host);
  }

  /** Looks at the pods now, and reports. Shape: `luck` of [0, 1) makes what is left open. */
  async report(host: string, style: ReportStyle, luck = 0): Promise<string[]> {
    const agent = this.#agent(host);
    agent.sequence += 1;
    const { sequence } = agent;
    const incarnation = this.incarnation(host);
    const takenAt = this.#scene.world.now;
    const living = this.#pods.alive(host);
    const share = { whole: 1, held: 1, "by handle": 1, cut: luck, empty: 0 }[style];
    const listed = living.slice(0, Math.floor(living.length * share));
    const workloads = listed.map((pod, at) =>
      style === "by handle"
        ? { handle: pod.handle, addresses: [] }
        : workloadOf(pod, Math.floor(luck * 997) + at),
    );
    const heldMs = style === "held" ? 1_000 + luck * 60_000 : 0;
    if (heldMs > 0) await this.#scene.world.sleep(heldMs);
    if (incarnation !== this.incarnation(host)) return ["given up"];
    const ageMs = this.#scene.world.now - takenAt;
    const complete = style !== "cut" && style !== "empty";
    const sent: SentReport = {
      takenAt,
      request: { host, incarnation, sequence, ageMs, complete, workloads },
    };
    agent.reports.push(sent);
    return await this.#send(sent);
  }

  /** Sends one of the last reports once more, byte for byte. */
  async again(host: string, pick: number): Promise<string[]> {
    const since = this.#scene.world.now - COPY_LATE_MS;
    const isOfNow = ({ request }: SentReport) => request.incarnation === this.incarnation(host);
    const last = this.#agent(host).reports.filter((sent) => {
      return sent.takenAt > since && (sent.heard !== undefined || isOfNow(sent));
    });
    const sent = last.slice(-COPIED)[Math.floor(pick * Math.min(COPIED, last.length))];
    if (sent === undefined) return ["nothing"];
    this.#watch.count("report copied");
    return await this.#send(sent);
  }

  /** The container runtime lists what it calls valid. */
  async attachments(host: string): Promise<string[]> {
    const handles = this.#pods.alive(host).map(({ handle }) => handle);
    const validHandles = handles.filter((handle) => handle.startsWith(`${NETWORK}.`));
    const takenAt = this.#scene.world.now;
    const request = { host, network: NETWORK, validHandles, deadlineAt: takenAt + PATIENCE_MS };
    const sent: SentAttachments = { request, takenAt };
    this.#agent(host).attachments.push(sent);
    try {
      const answer = await this.#scene.deployed.ports.host(host).collectAttachments(request);
      if (!answer.ok) return [answer.error.code];
      sent.heard = this.#scene.tick();
      return [...new Set(answer.value.results.map(({ outcome }) => outcome))];
    } catch {
      return ["unknown"];
    }
  }

  /**
   * The host boots: its agent begins anew under another incarnation, and registers; with `loses` its pods are gone.
   * What was kept back is gone with the agent: the first word of a life must not come after the next life.
   */
  async boot(host: string, loses: boolean): Promise<string[]> {
    const agent = this.#agent(host);
    const { now } = this.#scene.world;
    if (now - agent.bootedAt < BOOT_MS) return ["not yet"];
    agent.bootedAt = now;
    agent.boots += 1;
    agent.sequence = 0;
    if (loses) this.#pods.end({ host });
    return await this.register(host);
  }

  async register(host: string): Promise<string[]> {
    const incarnation = this.incarnation(host);
    const answer = this.#scene.deployed.ports.host(host).register({ host, labels: {}, incarnation });
    return await answer.then(
      (told) => [told.ok ? "done" : told.error.code],
      () => ["unknown"],
    );
  }

  async #send(sent: SentReport): Promise<string[]> {
    const { request } = sent;
    try {
      const answer = await this.#scene.deployed.ports.host(request.host).reportWorkloads(request);
      if (!answer.ok) return [answer.error.code];
      if (!answer.value.accepted) return ["replaced"];
      sent.heard ??= this.#scene.tick();
      return ["accepted"];
    } catch {
      return ["unknown"];
    }
  }

  #agent(host: string): Agent {
    const known = this.#agents.get(host);
    if (known !== undefined) return known;
    const agent: Agent = { boots: 1, bootedAt: 0, sequence: 0, reports: [], attachments: [] };
    this.#agents.set(host, agent);
    return agent;
  }
}

/** A pod in one of the ways in which agents know pods; each of them must keep it alive. */
function workloadOf(pod: Pod, choice: number): ReportedWorkload {
  const { host, handle, isRenamed } = pod;
  const addresses = toldTo(pod).map(({ address }) => address);
  const named = { namespace: NAMESPACE, pod: podName(host, handle) };
  const isSure = !isWaiting(pod);
  if (choice % 3 === 1 && addresses.length > 0 && isSure) return { ...named, addresses };
  if (choice % 3 === 2 && !isRenamed) return { ...named, addresses: [] };
  return { handle, ...named, addresses };
}
