/**
 * A Kubernetes API server as far as it is asked here: lists in pages of one version, single objects, refusals.
 * May import: nothing. Rule: it answers like the real one; what is out of order is a fault that a test has set.
 */

export interface Pod {
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly namespace: string;
    readonly name: string;
  };
  readonly spec: { readonly nodeName?: string; readonly hostNetwork?: boolean };
  readonly status: Readonly<Record<string, unknown>>;
}

/** Something that goes wrong at the next request that it matches. Each is met once, unless told. */
export interface Fault {
  /** Part of the path and query; absent: any. */
  readonly on?: RegExp;
  readonly times?: number;
  /** Answers so instead, with a body that is not the API server's own. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
  /** Never answers. */
  readonly hangs?: boolean;
  /** Ends the connection after so many bytes of the body. */
  readonly cutAt?: number;
  /** Changes the body. */
  readonly edit?: (body: Record<string, unknown>) => unknown;
  /** Changes the text of the body. */
  readonly text?: (text: string) => string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly delayMs: number;
  readonly hangs: boolean;
  readonly cutAt?: number;
}

/** The headers that matter. */
export interface Asking {
  readonly authorization?: string | undefined;
  readonly accept?: string | undefined;
}

interface Stored {
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface Snapshot {
  readonly version: string;
  readonly rest: readonly Stored[];
  readonly hasSelector: boolean;
}

const RESOURCES: Readonly<Record<string, { readonly kind: string; readonly group: string }>> = {
  pods: { kind: "Pod", group: "/api/v1" },
  nodes: { kind: "Node", group: "/api/v1" },
  virtualmachines: { kind: "VirtualMachine", group: "/apis/kubevirt.io/v1" },
  virtualmachineinstances: { kind: "VirtualMachineInstance", group: "/apis/kubevirt.io/v1" },
};

export class ApiServer {
  /** The only token that is accepted; absent: everybody is. */
  token: string | undefined;
  /** What may not be done, e.g. `list pods`. */
  readonly forbidden = new Set<string>();
  hasKubeVirt = true;
  /** In front of all paths, as a gateway to several clusters has it. */
  base = "";
  /** `GET` lines without the base, in the order of their arrival. */
  readonly requests: string[] = [];
  /** Those of them that were answered as they wished: 200. */
  readonly accepted: string[] = [];
  /** Called before each request is answered. */
  onRequest: () => void = () => undefined;
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #snapshots = new Map<string, Snapshot>();
  #faults: { readonly fault: Fault; left: number }[] = [];
  #version = 1000;
  #tokens = 0;

  set faults(faults: readonly Fault[]) {
    this.#faults = faults.map((fault) => ({ fault, left: fault.times ?? 1 }));
  }

  /** Puts a pod on a node. `addresses` are reported as the kubelet does. */
  putPod(
    namespace: string,
    name: string,
    node: string | undefined,
    addresses: readonly string[],
    given: { readonly metadata?: object; readonly spec?: object; readonly status?: object } = {},
  ): void {
    const [podIP] = addresses;
    const ips = podIP === undefined ? {} : { podIP, podIPs: addresses.map((ip) => ({ ip })) };
    this.#put("pods", `${namespace}/${name}`, {
      metadata: {
        namespace,
        name,
        uid: `uid-${namespace}-${name}`,
        creationTimestamp: "2026-11-01T00:00:00Z",
        ...given.metadata,
      },
      spec: { ...(node === undefined ? {} : { nodeName: node }), ...given.spec },
      status: { phase: "Running", ...ips, ...given.status },
    } as Stored);
  }

  deletePod(namespace: string, name: string): void {
    this.#delete("pods", `${namespace}/${name}`);
  }

  putNode(name: string): void {
    this.#put("nodes", name, { metadata: { name, uid: `uid-${name}` } });
  }

  deleteNode(name: string): void {
    this.#delete("nodes", name);
  }

  putMachine(namespace: string, name: string): void {
    this.#put("virtualmachines", `${namespace}/${name}`, { metadata: { namespace, name } });
  }

  deleteMachine(namespace: string, name: string): void {
    this.#delete("virtualmachines", `${namespace}/${name}`);
  }

  putInstance(namespace: string, name: string, isOwned: boolean): void {
    const ownerReferences = isOwned ? [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name }] : [];
    this.#put("virtualmachineinstances", `${namespace}/${name}`, {
      metadata: { namespace, name, ownerReferences },
    });
  }

  /** Forgets old versions, as compaction does: whoever is in the middle of a list gets 410. */
  expire(): void {
    this.#snapshots.clear();
  }

  /** Answers a request: `path` with its query. */
  answer(path: string, headers: Asking): ApiAnswer {
    this.onRequest();
    const met = this.#faults.find(({ fault, left }) => left > 0 && (fault.on ?? /^/).test(path));
    if (met !== undefined) met.left -= 1;
    const fault = met?.fault ?? {};
    this.requests.push(path.slice(this.base.length));
    const { status, body } = this.#respond(path, headers);
    if (status === 200 && fault.status === undefined) this.accepted.push(path.slice(this.base.length));
    const whole = typeof body === "string" ? body : JSON.stringify(fault.edit?.(body) ?? body);
    const text = fault.status === undefined ? whole : "<html>a proxy says no</html>";
    return {
      status: fault.status ?? status,
      headers: {
        "content-type": typeof body === "string" ? "text/plain" : "application/json",
        ...fault.headers,
      },
      text: fault.text?.(text) ?? text,
      delayMs: fault.delayMs ?? 0,
      hangs: fault.hangs === true,
      ...(fault.cutAt === undefined ? {} : { cutAt: fault.cutAt }),
    };
  }

  #respond(
    path: string,
    headers: Asking,
  ): { readonly status: number; readonly body: Record<string, unknown> | string } {
    if (this.token !== undefined && headers.authorization !== `Bearer ${this.token}`) {
      return refusal(401, "Unauthorized", {});
    }
    const { pathname, searchParams } = new URL(path.slice(this.base.length), "http://api");
    const asked = askedOf(pathname);
    if (!path.startsWith(this.base) || asked === undefined) return NO_SUCH_PATH;
    const { resource, key, name } = asked;
    if (resource.startsWith("virtual") && !this.hasKubeVirt) return NO_SUCH_PATH;
    if (this.forbidden.has(`${name === undefined ? "list" : "get"} ${resource}`)) {
      return refusal(403, "Forbidden", { name, kind: resource });
    }
    const isMetadata = headers.accept?.includes("as=PartialObjectMetadata") === true;
    if (name === undefined) return this.#list(resource, searchParams, isMetadata);
    const found = this.#objects.get(resource)?.get(key);
    if (found === undefined) return refusal(404, "NotFound", { name, kind: resource });
    const kind = isMetadata ? "PartialObjectMetadata" : RESOURCES[resource]!.kind;
    return { status: 200, body: { kind, apiVersion: "v1", ...(isMetadata ? metadataOf(found) : found) } };
  }

  #list(
    resource: string,
    query: URLSearchParams,
    isMetadata: boolean,
  ): { readonly status: number; readonly body: Record<string, unknown> } {
    const token = query.get("continue");
    const selector = query.get("fieldSelector");
    const snapshot = token === null ? this.#snapshot(resource, selector) : this.#snapshots.get(token);
    if (snapshot === undefined) {
      // It offers to go on at another version.
      const other = this.#keep({ ...this.#snapshot(resource, selector), hasSelector: selector !== null });
      return refusal(410, "Expired", {}, { continue: other });
    }
    const limit = Number(query.get("limit") ?? 0) || snapshot.rest.length;
    const items = snapshot.rest.slice(0, limit);
    const rest = snapshot.rest.slice(limit);
    const more =
      rest.length === 0
        ? {}
        : {
            continue: this.#keep({ ...snapshot, rest }),
            ...(snapshot.hasSelector ? {} : { remainingItemCount: rest.length }),
          };
    const kind = isMetadata ? "PartialObjectMetadataList" : `${RESOURCES[resource]!.kind}List`;
    const metadata = { resourceVersion: snapshot.version, ...more };
    return { status: 200, body: { kind, metadata, items: isMetadata ? items.map(metadataOf) : items } };
  }

  #snapshot(resource: string, selector: string | null): Snapshot {
    const all = [...(this.#objects.get(resource) ?? new Map<string, Stored>())].sort(([one], [other]) =>
      one < other ? -1 : 1,
    );
    const node =
      selector === null ? undefined : selector.replace(/^spec\.nodeName=/, "").replace(/\\(.)/g, "$1");
    const chosen = all.filter(
      ([, object]) => node === undefined || ((object as Pod).spec.nodeName ?? "") === node,
    );
    const rest = chosen.map(([, object]) => object);
    return { version: `${this.#version}`, rest, hasSelector: selector !== null };
  }

  #keep(snapshot: Snapshot): string {
    this.#tokens += 1;
    const token = Buffer.from(`{"rv":${snapshot.version},"n":${this.#tokens}}`).toString("base64");
    this.#snapshots.set(token, snapshot);
    return token;
  }

  #put(resource: string, key: string, object: Stored): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: `${this.#version}` };
    const objects = this.#objects.get(resource) ?? new Map<string, Stored>();
    this.#objects.set(resource, objects.set(key, { ...object, metadata }));
  }

  #delete(resource: string, key: string): void {
    this.#version += 1;
    this.#objects.get(resource)?.delete(key);
  }
}

const NO_SUCH_PATH = { status: 404, body: "404 page not found\n" };

function metadataOf({ metadata }: Stored): Stored {
  return { metadata };
}

function refusal(code: number, reason: string, details: object, metadata: object = {}) {
  const body = { kind: "Status", apiVersion: "v1", metadata, status: "Failure", reason, details, code };
  return { status: code, body };
}

/** Which object or list a path names. */
function askedOf(
  pathname: string,
): { readonly resource: string; readonly key: string; readonly name?: string } | undefined {
  for (const [resource, { group }] of Object.entries(RESOURCES)) {
    if (pathname === `${group}/${resource}`) return { resource, key: "" };
    const one = new RegExp(`^${group}/(?:namespaces/([^/]+)/)?${resource}/([^/]+)$`).exec(pathname);
    if (one !== null) {
      const [namespace, name] = one.slice(1).map((part = "") => decodeURIComponent(part));
      return { resource, key: namespace === "" ? `${name}` : `${namespace}/${name}`, name: `${name}` };
    }
  }
  return undefined;
}
