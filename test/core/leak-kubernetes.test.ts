/** What the pods and machines of a cluster say of an address. */
import { describe, expect, it } from "vitest";
import { type ClusterView, kubernetesEvidence, type PodFact } from "../../src/core/leak-kubernetes.ts";
import type { LeakKind, LeakSubject } from "../../src/core/leak-subject.ts";
import { MINUTE, markAt, subjectOf, T } from "./leak-facts.ts";

const pod = (given: Partial<PodFact> = {}): PodFact => ({
  namespace: "web",
  name: "api-0",
  uid: "u1",
  addresses: ["10.0.0.1"],
  ...given,
});

function says(view: Partial<ClusterView>, subject: LeakSubject = subjectOf(), kind: LeakKind = "workload") {
  const whole = { complete: true, scope: "cluster", pods: [], ...view } as const;
  return kubernetesEvidence(markAt(T), whole).says(subject, kind);
}

describe("kubernetesEvidence of pods", () => {
  it.each<[string, Partial<PodFact>, string]>([
    ["reports the address", {}, "alive"],
    ["reports it among others", { addresses: ["fe80::1", "10.0.0.1"] }, "alive"],
    ["reports it under another uid: the address wins", { uid: "u2" }, "alive"],
    ["reports another address", { addresses: ["10.0.0.2"] }, "absent"],
    ["reports something that is no address", { addresses: ["10.0.0.x"] }, "unknown"],
    ["has no address yet", { addresses: [] }, "alive"],
    ["is young and has no address yet", { addresses: [], createdAt: T - 10 * MINUTE }, "alive"],
    ["has had no address for too long", { addresses: [], createdAt: T - 10 * MINUTE - 1 }, "unknown"],
    ["is a replacement without an address", { addresses: [], uid: "u2" }, "unknown"],
    ["has failed, with the address", { phase: "Failed" }, "absent"],
    ["has succeeded, without an address", { phase: "Succeeded", addresses: [] }, "absent"],
    ["runs", { phase: "Running" }, "alive"],
  ])("a pod that %s", (_, given, answer) => expect(says({ pods: [pod(given)] })).toBe(answer));

  it("calls absent what is nowhere, and only not here what one host's list does not have", () => {
    expect(says({})).toBe("absent");
    expect(says({ scope: "host" })).toBe("absent_here");
  });

  it("finds an address under any name", () => {
    expect(says({ pods: [pod({ name: "other" })] })).toBe("alive");
    expect(says({ pods: [pod({ name: "other", phase: "Succeeded" })] })).toBe("absent");
  });

  it("tells by a list that did not end only of what it lists", () => {
    expect(says({ complete: false })).toBe("unlisted");
    expect(says({ complete: false, pods: [pod()] })).toBe("alive");
  });

  it("does not know what could not be read, and says nothing of what was not", () => {
    expect(says({ unreadable: new Set(["web/api-0"]) })).toBe("unknown");
    expect(says({ read: new Set(["web/api-0"]) })).toBe("absent");
    expect(says({ read: new Set(["web/other"]) })).toBe("silent");
  });

  it("asks of both owners: one that lives keeps the address", () => {
    const subject = subjectOf({ alternateAttributes: { namespace: "web", pod: "api-1" } });
    expect(says({ pods: [pod({ name: "api-1" })] }, subject)).toBe("alive");
    expect(says({ pods: [pod({ name: "api-1", uid: "u9", addresses: [] })] }, subject)).toBe("alive");
    expect(says({}, subject)).toBe("absent");
    expect(says({ read: new Set(["web/api-0"]) }, subject)).toBe("silent");
  });

  it("I11: knows nothing of an address that another host got too, unless it is seen to live", () => {
    const subject = subjectOf({ usedOn: "other" });
    expect(says({}, subject)).toBe("silent");
    expect(says({ pods: [pod({ addresses: ["10.0.0.2"] })] }, subject)).toBe("silent");
    expect(says({ pods: [pod()] }, subject)).toBe("alive");
    expect(says({ pods: [pod({ name: "other" })] }, subject)).toBe("alive");
  });

  it.each<LeakKind>(["tunnel", "load_balancer", "reserved", "external"])(
    "says nothing of kind %s",
    (kind) => {
      expect(says({}, subjectOf(), kind)).toBe("silent");
    },
  );
});

describe("kubernetesEvidence of machines", () => {
  const subject = subjectOf({
    attributes: { namespace: "web", pod: "virt-launcher-db-x", "vmi-name": "db" },
  });
  const none = { machines: new Set<string>(), instances: new Map<string, { isOwnedByMachine: boolean }>() };
  const instance = (isOwnedByMachine: boolean) => new Map([["web/db", { isOwnedByMachine }]]);

  it.each([
    ["the machine is there, though it stands still", { ...none, machines: new Set(["web/db"]) }, "alive"],
    ["an instance stands for itself", { ...none, instances: instance(false) }, "alive"],
    ["an instance only waits for its end", { ...none, instances: instance(true) }, "absent"],
    ["neither is there", none, "absent"],
    ["it could not be read", { ...none, unreadable: new Set(["web/db"]) }, "unknown"],
  ])("%s", (_, machines, answer) => expect(says({ machines }, subject, "vm")).toBe(answer));

  it("says nothing where machines were not asked for, though the pods were", () => {
    expect(says({}, subject, "vm")).toBe("silent");
  });
});
