/**
 * CHECK: whether the attachment still holds the addresses that ADD gave it.
 * May import: core, client, cni. It changes nothing and looks at no interface: the main plugin does that.
 */

import { type Address, formatAddress, parseAddress, sameAddress } from "../core/address.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Attachment } from "./environment.ts";
import { CNI, cniNumberOf } from "./error-codes.ts";
import { type Failure, failure, failureOfCall } from "./failure.ts";
import { identify } from "./identity.ts";
import { connect, type Machine } from "./machine.ts";
import { type Fields, isFields, type Netconf } from "./netconf.ts";

const FAMILIES = { ipv4: 4, ipv6: 6 } as const;

/**
 * Compares prevResult with what the handle holds.
 *
 * Shape: ours are the addresses of a wanted family on this interface, whatever prefix they carry.
 * Rejects: 7 without a readable prevResult; 119 for an address of ours that is not held, or a wanted
 * family without any.
 */
export async function check(
  netconf: Netconf,
  attachment: Attachment,
  machine: Machine,
): Promise<Result<string, Failure>> {
  const identity = identify(netconf.network, attachment);
  if (!identity.ok) return identity;
  const { handle } = identity.value;
  const given = addressesOf(netconf.prevResult, attachment.interfaceName);
  if (!given.ok) return given;
  const wanted = (["ipv4", "ipv6"] as const).filter((name) => netconf.families[name] !== undefined);
  const lacking = wanted.find((name) => given.value.every((address) => address.family !== FAMILIES[name]));
  if (lacking !== undefined) {
    return notHeld(`prevResult has no ${lacking} address for ${attachment.interfaceName}`);
  }
  const client = await connect(netconf, machine);
  if (!client.ok) return client;
  const answer = await client.value.getHandle(handle);
  if (!answer.ok) return err(failureOfCall(answer.error, netconf.server));
  const held = answer.value.items
    .filter((item) => item.state === "allocated")
    .flatMap((item) => parsed(item.address));
  const missing = given.value.find(
    (address) =>
      wanted.some((name) => FAMILIES[name] === address.family) &&
      !held.some((other) => sameAddress(other, address)),
  );
  return missing === undefined ? ok("") : notHeld(`${formatAddress(missing)} is not held by ${handle}`);
}

/** Reads the addresses that prevResult puts on an interface; those that name no interface count as on it. */
function addressesOf(prevResult: unknown, interfaceName: string): Result<Address[], Failure> {
  if (!isFields(prevResult)) return invalid("prevResult", "must be the result of the ADD");
  const { ips = [], interfaces = [] } = prevResult;
  if (!Array.isArray(ips) || !ips.every(isFields))
    return invalid("prevResult.ips", "must be a list of objects");
  if (!Array.isArray(interfaces) || !interfaces.every(isFields)) {
    return invalid("prevResult.interfaces", "must be a list of objects");
  }
  const addresses: Address[] = [];
  for (const ip of ips) {
    if (!isOn(ip, interfaces, interfaceName)) continue;
    const [address] = typeof ip.address === "string" ? parsed(ip.address.split("/", 1)[0] ?? "") : [];
    if (address === undefined) return invalid("prevResult.ips", "must have addresses with a prefix length");
    addresses.push(address);
  }
  return ok(addresses);
}

function isOn(ip: Fields, interfaces: readonly Fields[], interfaceName: string): boolean {
  const named = typeof ip.interface === "number" ? interfaces[ip.interface]?.name : undefined;
  return named === undefined || named === interfaceName;
}

function parsed(text: string): [Address] | [] {
  const address = parseAddress(text);
  return address.ok ? [address.value] : [];
}

function notHeld(what: string): Result<never, Failure> {
  const code = "address_not_allocated";
  const number = cniNumberOf(code, 404, "");
  return err(failure(number, `${code} (${number}): ${what}. Next: delete the attachment and add it again.`));
}

function invalid(field: string, rule: string): Result<never, Failure> {
  return err(failure(CNI.invalidConfiguration, `invalid configuration: ${field} ${rule}`));
}
