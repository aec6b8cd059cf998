/**
 * Writes hosts as answers, with what their agents reported and what is suspected there.
 * May import: rpc and http.
 */
import type { HostFamilyView, HostView } from "../../rpc/host.ts";
import type { ReportStateView } from "../../rpc/leaks.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";
import { secondsOf } from "./gc.ts";

/** Writes one host. Shape: one whose agent has stopped reporting is `silent`. */
export function hostOnWire(view: HostView): Wire["Host"] {
  const { labels, report, ipv4, ipv6, tunnels, leaks, refusals, registeredAt, removingSince, kept, ...rest } =
    view;
  return {
    ...rest,
    state: view.state === "active" && report.state === "stale" ? "silent" : view.state,
    labels: { ...labels },
    report: hostReportOnWire(report),
    ipv4: familyOnWire(ipv4),
    ipv6: familyOnWire(ipv6),
    tunnels: tunnels.map((tunnel) => ({ ...tunnel })),
    leaks: { ...leaks },
    refusals: {
      last10Minutes: refusals.last10Minutes,
      ...(refusals.lastCode === undefined ? {} : { lastCode: refusals.lastCode }),
      ...(refusals.lastAt === undefined ? {} : { lastAt: timeText(refusals.lastAt) }),
    },
    registeredAt: timeText(registeredAt),
    ...(removingSince === undefined ? {} : { removingSince: timeText(removingSince) }),
    ...(kept === undefined ? {} : { allocationsKept: kept.addresses, handlesKept: [...kept.handles] }),
  };
}

function hostReportOnWire({ lastAt, ageMs, ...rest }: ReportStateView): Wire["HostReport"] {
  return {
    ...rest,
    ...(lastAt === undefined ? {} : { lastAt: timeText(lastAt) }),
    ...(ageMs === undefined ? {} : { ageSeconds: secondsOf(ageMs) }),
  };
}

function familyOnWire(view: HostFamilyView): Wire["HostFamily"] {
  return { ...view, pools: [...view.pools] };
}
