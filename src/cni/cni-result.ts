/**
 * The JSON documents that go to stdout, per version of the CNI specification.
 * May import: client (types), cni. Nothing but these documents is ever printed there.
 */

import type { Allocation } from "../client/wire.ts";
import type { Failure } from "./failure.ts";
import { type CniVersion, type Netconf, SUPPORTED_VERSIONS } from "./netconf.ts";

interface ResultIp {
  version?: "4" | "6";
  address: string;
  gateway?: string;
}

/** How each version writes one address and what else it wants in a result. */
const DIALECTS: Record<CniVersion, { hasIpVersion: boolean; hasDns: boolean }> = {
  "0.4.0": { hasIpVersion: true, hasDns: true },
  "1.0.0": { hasIpVersion: false, hasDns: false },
  "1.1.0": { hasIpVersion: false, hasDns: false },
};

/** Renders the result of an ADD: IPv4 before IPv6, gateways of the answer, routes of the configuration. */
export function renderResult(netconf: Netconf, allocations: readonly Allocation[]): string {
  const dialect = DIALECTS[netconf.cniVersion];
  const ips = allocations
    .toSorted((a, b) => a.family - b.family)
    .map((allocation): ResultIp => {
      return {
        ...(dialect.hasIpVersion ? { version: allocation.family === 4 ? "4" : "6" } : {}),
        address: addressWithPrefix(allocation, netconf.prefix),
        ...(allocation.gateway === undefined ? {} : { gateway: allocation.gateway }),
      };
    });
  return render({
    cniVersion: netconf.cniVersion,
    ips,
    ...(netconf.routes.length === 0 ? {} : { routes: netconf.routes }),
    ...(dialect.hasDns ? { dns: {} } : {}),
  });
}

/** Renders the error object. */
export function renderFailure(cniVersion: string, failure: Failure): string {
  return render({ cniVersion, ...failure });
}

/** Renders the answer of VERSION, which repeats the caller's version. */
export function renderVersion(cniVersion: string): string {
  return render({ cniVersion, supportedVersions: SUPPORTED_VERSIONS });
}

/** A bare /32 or /128 tells no neighbour to be on the link, so the caller's routes decide. */
function addressWithPrefix(allocation: Allocation, prefix: Netconf["prefix"]): string {
  if (prefix === "answer") return allocation.interfaceAddress;
  return `${allocation.address}/${allocation.family === 4 ? 32 : 128}`;
}

function render(document: object): string {
  return `${JSON.stringify(document, null, 4)}\n`;
}
