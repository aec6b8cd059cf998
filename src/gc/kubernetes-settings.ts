/**
 * The Kubernetes source of a deployment, made from its variables, its secret and its bindings.
 * May import: gc. Rule: settings that are wrong make a source that can read nothing, never none at all.
 */
import type { ClusterSource, PodsLook } from "../rpc/cluster-source.ts";
import { kubernetesSource } from "./kubernetes.ts";
import { apiAddress, type Fetch } from "./kubernetes-client.ts";
import { MachinesMemory } from "./kubernetes-machines.ts";

/** Something that answers requests: a private service on Cloudflare, one server on workerd, a folder of files. */
interface Service {
  fetch(url: string, init?: RequestInit): Promise<Response>;
}

/** What an operator sets; all may be absent. */
export interface KubernetesEnv {
  readonly KUBERNETES_API_URL?: string;
  /** A secret. */
  readonly KUBERNETES_TOKEN?: string;
  /** `on`: virtual machines of KubeVirt are judged too. */
  readonly KUBERNETES_VIRTUAL_MACHINES?: string;
  readonly KUBERNETES_TIMEOUT_SECONDS?: string;
  /** The way to the API server; absent: the public network. */
  readonly KUBERNETES?: Service;
  /** The folder in which the token is a file of that name; the local start makes both. */
  readonly KUBERNETES_TOKEN_FOLDER?: Service;
  readonly KUBERNETES_TOKEN_FILE_NAME?: string;
}

/** How long a token from a file is used before the file is read again, ms. */
const TOKEN_MS = 30_000;
const TIMEOUT_SECONDS_MAX = 30;

/** All objects of a process share what is known of machines, and the token; both are mere data. */
const machines = new MachinesMemory();
let token: { readonly text: string | undefined; readonly readAt: number } | undefined;

type Clock = Pick<Parameters<typeof kubernetesSource>[0], "now" | "sleep">;

/** Makes the source, or undefined where no API server is named. */
export function clusterSourceOf(env: KubernetesEnv, { now, sleep }: Clock): ClusterSource | undefined {
  const { KUBERNETES_API_URL: url, KUBERNETES: service } = env;
  if (url === undefined || url === "") return undefined;
  const fault = faultOf(env);
  if (fault !== undefined) return unreadableSource(fault, now);
  const seconds = env.KUBERNETES_TIMEOUT_SECONDS;
  // Called as methods: neither works apart from what it belongs to.
  const ask: Fetch = (to, init) => (service === undefined ? fetch(to, init) : service.fetch(to, init));
  return kubernetesSource({
    fetch: ask,
    url,
    token: () => tokenOf(env, now),
    now,
    sleep,
    ...(seconds === undefined ? {} : { limits: { requestMs: Number(seconds) * 1000 } }),
    ...(env.KUBERNETES_VIRTUAL_MACHINES === "on" ? { machines } : {}),
  });
}

function faultOf(env: KubernetesEnv): string | undefined {
  const address = apiAddress(env.KUBERNETES_API_URL ?? "");
  if ("fault" in address) return `KUBERNETES_API_URL ${address.fault}`;
  const seconds = Number(env.KUBERNETES_TIMEOUT_SECONDS ?? 1);
  if (!(seconds >= 1 && seconds <= TIMEOUT_SECONDS_MAX)) {
    return `KUBERNETES_TIMEOUT_SECONDS must be a number from 1 to ${TIMEOUT_SECONDS_MAX}`;
  }
  const onOff = env.KUBERNETES_VIRTUAL_MACHINES ?? "off";
  return onOff === "on" || onOff === "off" ? undefined : "KUBERNETES_VIRTUAL_MACHINES must be on or off";
}

/** Rejects: a file that cannot be read now; the look that needs it then reads nothing. */
async function tokenOf(env: KubernetesEnv, now: () => number): Promise<string | undefined> {
  const { KUBERNETES_TOKEN_FOLDER: folder, KUBERNETES_TOKEN_FILE_NAME: name } = env;
  if (folder === undefined || name === undefined) return env.KUBERNETES_TOKEN?.trim() || undefined;
  if (token !== undefined && Math.abs(now() - token.readAt) <= TOKEN_MS) return token.text;
  const answer = await folder.fetch(`http://folder/${encodeURIComponent(name)}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error("the file with the token cannot be read");
  token = { text: text.trim() || undefined, readAt: now() };
  return token.text;
}

/** Says of everything that it cannot be read, so that nothing is released. */
function unreadableSource(what: string, now: () => number): ClusterSource {
  const nothing = (unreadable: ReadonlySet<string>, complete: boolean): PodsLook => ({
    takenAt: now(),
    complete,
    pods: [],
    unreadable,
    requests: 0,
    what,
  });
  return {
    podsOn: async () => nothing(new Set(), false),
    readPods: async (names) =>
      nothing(new Set(names.map(({ namespace, pod }) => `${namespace}/${pod}`)), true),
    readNode: async () => "unreadable",
    listNodes: async () => ({ kind: "unreadable", what }),
  };
}
