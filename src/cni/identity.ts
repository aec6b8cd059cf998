/**
 * Names that an attachment has at the service: handle, request key, workload ID, attributes.
 * May import: core, cni, node:crypto. ADD and DEL of one attachment must derive the same names.
 */
import { createHash } from "node:crypto";
import { err, ok, type Result } from "../core/result.ts";
import type { Attachment, CniArgs } from "./environment.ts";
import { CNI } from "./error-codes.ts";
import { type Failure, failure } from "./failure.ts";

export interface Identity {
  /** `<network>.<container>`: one per container, so a DEL of any of its interfaces frees all. */
  readonly handle: string;
  /** Keys to try in this order; the next one is for an ADD after a DEL, which spends a key. */
  readonly idempotencyKeys: readonly string[];
  /** The handle that imported allocations of old versions carry; absent if no handle can have that name. */
  readonly workloadId?: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly namespace?: string;
}

const HANDLE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,252}$/;
/** The service takes 8 to 128 visible ASCII characters and strips quotes. */
const KEY_PATTERN = /^[A-Za-z0-9._:@-]{8,128}$/;
/** A spent key is refused for about ten minutes; a container that is added oftener meets the refusal. */
const KEYS_MAX = 8;

/**
 * Derives the names of an attachment.
 *
 * Rejects: a network name and container ID that are together too long for a handle.
 * Why: pod facts count only when namespace and pod are both known, as the kubelet always sends both.
 */
export function identify(network: string, attachment: Attachment): Result<Identity, Failure> {
  const { containerId, interfaceName, args } = attachment;
  const named = handleOf(network, containerId);
  if (!named.ok) return named;
  const handle = named.value;
  const pod = podOf(args);
  const workloadId = pod === undefined ? containerId : `${pod.namespace}.${pod.name}`;
  return ok({
    handle,
    idempotencyKeys: keysOf(`${handle}.${interfaceName}`),
    ...(HANDLE_PATTERN.test(workloadId) ? { workloadId } : {}),
    attributes: pod === undefined ? {} : attributesOf(pod),
    ...(pod === undefined ? {} : { namespace: pod.namespace }),
  });
}

/** Names what a container holds on a network: all its interfaces there share one handle. */
export function handleOf(network: string, containerId: string): Result<string, Failure> {
  const handle = `${network}.${containerId}`;
  if (HANDLE_PATTERN.test(handle)) return ok(handle);
  const msg = "CNI_CONTAINERID and the network's name are longer than 252 characters";
  return err(failure(CNI.invalidEnvironment, msg));
}

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
}

function podOf(args: CniArgs): Pod | undefined {
  const { podNamespace, podName, podUid } = args;
  if (podNamespace === undefined || podName === undefined) return undefined;
  return { namespace: podNamespace, name: podName, uid: podUid };
}

function attributesOf(pod: Pod): Record<string, string> {
  const attributes = { namespace: pod.namespace, pod: pod.name };
  return pod.uid === undefined ? attributes : { ...attributes, uid: pod.uid };
}

/**
 * Shape: `<name>`, `<name>:2`, `<name>:3`, …: the same for every ADD, so that a repeated one finds its own.
 * Why: no interface name has a colon, while `eth0.2` is one and must not share a key with eth0.
 */
function keysOf(name: string): string[] {
  return Array.from({ length: KEYS_MAX }, (_, before) =>
    keyOf(before === 0 ? name : `${name}:${before + 1}`),
  );
}

function keyOf(name: string): string {
  return KEY_PATTERN.test(name) ? name : `sha256:${createHash("sha256").update(name).digest("hex")}`;
}
