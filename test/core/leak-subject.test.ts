/** Of which kind an allocation is, and whom its attributes name. */
import { describe, expect, it } from "vitest";
import { kindOf, type LeakKind, type LeakSubject, namedOwners } from "../../src/core/leak-subject.ts";
import { subjectOf } from "./leak-facts.ts";

describe("kindOf", () => {
  const vm = { namespace: "web", pod: "launcher", "vmi-name": "db" };

  it.each<[LeakKind, Partial<LeakSubject>]>([
    ["workload", {}],
    ["vm", { attributes: vm }],
    ["vm", { attributes: {}, alternateAttributes: vm }],
    ["tunnel", { use: "Tunnel", attributes: {} }],
    ["tunnel", { attributes: { type: "wireguardV6TunnelAddress" } }],
    ["load_balancer", { use: "LoadBalancer" }],
    ["load_balancer", { host: "virtual:load-balancer" }],
    ["reserved", { handle: "windows-reserved-ipam-handle", attributes: {} }],
    ["external", { leakCollection: "never" }],
    ["external", { leakCollection: "never", use: "Tunnel" }],
    ["external", { attributes: {} }],
    ["external", { attributes: { pod: "api-0" } }],
    ["external", { attributes: { namespace: "web" } }],
    ["external", { attributes: { "vmi-name": "db" } }],
    ["external", { attributes: { namespace: "", pod: "", node: "h" } }],
    ["external", { alternateAttributes: { pod: "api-1" } }],
  ])("is %s for %o", (kind, given) => expect(kindOf(subjectOf(given))).toBe(kind));
});

describe("namedOwners", () => {
  it("names both owners, and nobody where one of them is named by half", () => {
    const other = { namespace: "web", pod: "api-1" };
    expect(namedOwners(subjectOf({ alternateAttributes: other }))).toEqual([
      { namespace: "web", pod: "api-0", uid: "u1" },
      other,
    ]);
    expect(namedOwners(subjectOf({ alternateAttributes: { pod: "api-1" } }))).toEqual([]);
  });
});
