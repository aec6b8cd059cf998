/** The Kubernetes source against a fake API server: virtual machines and their instances. */
import { describe, expect, it } from "vitest";
import { MachinesMemory } from "../../src/gc/kubernetes-machines.ts";
import { type Stage, withPods } from "./kubernetes-facts.ts";

describe("virtual machines", () => {
  function withMachines(): Stage {
    const made = withPods({ machines: new MachinesMemory() });
    made.api.putMachine("vms", "db");
    made.api.putInstance("vms", "db", true);
    made.api.putInstance("vms", "alone", false);
    return made;
  }

  it("are not asked for unless they are wanted", async () => {
    const { api, source } = withPods();
    expect((await source.podsOn("n")).machines).toBeUndefined();
    expect(api.requests.some((path) => path.includes("kubevirt"))).toBe(false);
  });

  it("are listed with their instances, once for all hosts of a tour", async () => {
    const { api, source, clock } = withMachines();
    const startedAt = clock.now();
    const { machines, requests } = await source.podsOn("n");
    expect(requests).toBe(5);
    expect(machines?.machines).toEqual(new Set(["vms/db"]));
    expect(machines?.instances).toEqual(
      new Map([
        ["vms/alone", { isOwnedByMachine: false }],
        ["vms/db", { isOwnedByMachine: true }],
      ]),
    );
    clock.advance(20_000);
    const other = await source.podsOn("m");
    expect(other).toMatchObject({ requests: 1, takenAt: startedAt });
    expect(other.machines).toBe(machines);
    clock.advance(20_000);
    expect(await source.podsOn("o")).toMatchObject({ requests: 3, takenAt: clock.now() });
    expect(api.requests.filter((path) => path.includes("kubevirt"))).toHaveLength(4);
  });

  it("I11: what a host has seen of them is no news to it, and a re-check looks for itself", async () => {
    const { api, source, clock } = withMachines();
    await source.podsOn("n");
    api.deleteMachine("vms", "db");
    clock.advance(1_000);
    const again = await source.podsOn("n");
    expect(again).toMatchObject({ requests: 5, takenAt: clock.now() });
    expect(again.machines?.machines.size).toBe(0);
    api.putMachine("vms", "db");
    const read = await source.readPods([{ namespace: "web", pod: "gone" }]);
    expect(read).toMatchObject({ requests: 3 });
    expect(read.machines?.machines.size).toBe(1);
    const without = await source.readPods([{ namespace: "web", pod: "gone" }], { machines: false });
    expect(without).toMatchObject({ requests: 1 });
    expect(without.machines).toBeUndefined();
  });

  it("are listed once when several hosts ask at the same time", async () => {
    const { api, source, clock } = withMachines();
    api.faults = [{ on: /kubevirt/, delayMs: 2_000, times: 9 }];
    const looks = await clock.run(Promise.all(["n", "m", "o"].map((node) => source.podsOn(node))));
    expect(looks.map(({ machines }) => machines?.machines.size)).toEqual([1, 1, 1]);
    expect(api.requests.filter((path) => path.includes("kubevirt"))).toHaveLength(2);
  });

  it.each<[string, (api: Stage["api"]) => void, string]>([
    [
      "are not installed",
      (api) => {
        api.hasKubeVirt = false;
      },
      "KubeVirt is not installed",
    ],
    [
      "may not be listed",
      (api) => {
        api.forbidden.add("list virtualmachines");
      },
      "forbidden: needs list virtualmachines",
    ],
    [
      "have instances that may not be listed",
      (api) => {
        api.forbidden.add("list virtualmachineinstances");
      },
      "forbidden: needs list virtualmachineinstances",
    ],
    [
      "cannot be listed to their end",
      (api) => {
        api.faults = [{ on: /instances/, edit: (body) => ({ ...body, items: null }) }];
      },
      "no list as expected",
    ],
  ])("nothing is known of machines that %s; pods are", async (_, set, what) => {
    const { api, source } = withMachines();
    set(api);
    const look = await source.podsOn("n");
    expect(look).toMatchObject({ complete: true, what: `virtual machines: ${what}` });
    expect(look.machines).toBeUndefined();
    expect(look.pods).toHaveLength(7);
  });
});
