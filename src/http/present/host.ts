/**
 * Writes hosts as answers. Reports, tunnels and leaks have their places; nothing reports yet.
 * May import: rpc and http.
 */
import type { HostFamilyView, HostView } from "../../rpc/host.ts";
import { timeText } from "../problems/row.ts";
import type { Wire } from "../schemas/components.ts";

/** Writes one host. */
export function hostOnWire(view: HostView): Wire["Host"] {
  const { labels, ipv4, ipv6, refusals, registeredAt, removingSince, ...rest } = view;
  return {
    ...rest,
    labels: { ...labels },
    report: { state: "never", workloads: 0 },
    ipv4: familyOnWire(ipv4),
    ipv6: familyOnWire(ipv6),
    tunnels: [],
    leaks: { candidates: 0, confirmed: 0, held: 0 },
    refusals: {
      last10Minutes: refusals.last10Minutes,
      ...(refusals.lastCode === undefined ? {} : { lastCode: refusals.lastCode }),
      ...(refusals.lastAt === undefined ? {} : { lastAt: timeText(refusals.lastAt) }),
    },
    registeredAt: timeText(registeredAt),
    ...(removingSince === undefined ? {} : { removingSince: timeText(removingSince) }),
  };
}

function familyOnWire(view: HostFamilyView): Wire["HostFamily"] {
  return { ...view, pools: [...view.pools] };
}
