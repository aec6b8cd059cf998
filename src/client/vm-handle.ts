/**
 * The handle under which the addresses of a virtual machine stand, whoever asks for them.
 * May import: nothing. Rule: the same machine has the same handle in every caller.
 */

/** Which virtual machine is meant. An absent or empty network is the default one. */
export interface VirtualMachine {
  readonly network?: string;
  readonly namespace: string;
  readonly vm: string;
}

const DEFAULT_NETWORK = "k8s-pod-network";
/** Characters of a handle: what other callers of the same machine cut it to. */
const LENGTH_MAX = 128;
/** Characters of the digest that are never cut off: 132 bits, so that no two machines share a handle. */
const DIGEST_MIN = 22;

/**
 * Names the handle of a virtual machine: `<network>.vmi.<namespace>.<vm>`.
 * Shape: where that is longer than 128 characters, the part after `vmi.` is `_` and its SHA-256 as
 * unpadded base64url. Why: namespaces have no dots, so the short form parses back.
 */
export async function vmHandle({ network, namespace, vm }: VirtualMachine): Promise<string> {
  const prefix = `${network || DEFAULT_NETWORK}.vmi.`;
  const machine = `${namespace}.${vm}`;
  const length = prefix.length + machine.length;
  // A name as long as that which begins like a digest could be taken for one.
  if (length < LENGTH_MAX || (length === LENGTH_MAX && !machine.startsWith("_"))) return prefix + machine;
  const room = Math.max(DIGEST_MIN, LENGTH_MAX - prefix.length - 1);
  return `${prefix}_${(await digest(machine)).slice(0, room)}`;
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
