/**
 * What a Host says of itself. May import: core, rpc.
 * Rule: figures of blocks are those that the blocks told; nothing is made up where one does not answer.
 */
import type * as rpc from "../src/rpc/host.ts";
import type { HostContext } from "./host-context.ts";
import { isVirtual } from "./host-enrolment.ts";
import { HostFigures } from "./host-figures.ts";
import type { HostLeaks } from "./host-leaks.ts";
import type { HostRemoval } from "./host-removal.ts";
import type { Registration } from "./storage/host-rows.ts";

interface Parts {
  readonly host: HostContext;
  readonly leaks: HostLeaks;
  readonly removal: HostRemoval;
}

/** Tells of a host as it is registered. */
export async function viewOf(
  { host: context, leaks, removal }: Parts,
  host: string,
  registration: Registration,
): Promise<rpc.HostView> {
  const figures = new HostFigures(context);
  await figures.askUnknown();
  const now = context.runtime.now();
  const { labels, incarnation, revision, registeredAt, gone } = registration;
  const left = gone === undefined ? undefined : await removal.left();
  return {
    name: host,
    kind: isVirtual(host) ? "virtual" : "host",
    state: gone === undefined ? "active" : "removing",
    labels,
    ...(incarnation === undefined ? {} : { incarnation }),
    ipv4: await figures.ofFamily(4, labels),
    ipv6: await figures.ofFamily(6, labels),
    report: leaks.view.report(),
    leaks: leaks.view.counts(),
    tunnels: leaks.view.tunnels(),
    refusals: context.memory.refusals(now),
    registeredAt,
    ...(gone === undefined ? {} : { removingSince: gone.since }),
    ...(left === undefined ? {} : { allocationsLeft: left.allocations }),
    ...(left === undefined || left.kept.addresses === 0 ? {} : { kept: left.kept }),
    revision,
  };
}
