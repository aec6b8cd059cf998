/** Whatever goes wrong between us and an API server, what was there all the time is never called absent. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { kubernetesEvidence } from "../../src/core/leak-kubernetes.ts";
import { MachinesMemory } from "../../src/gc/kubernetes-machines.ts";
import type { Fault } from "../support/api-server.ts";
import { runs } from "../support/seeds.ts";
import { stage } from "./kubernetes-facts.ts";
import { markAt, subjectOf } from "./leak-facts.ts";

const RUNS = runs(400);

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom<Fault>(
    { hangs: true },
    { delayMs: 12_000 },
    { status: 429, headers: { "retry-after": "1" } },
    { status: 429, headers: { "retry-after": "600" } },
    { status: 401 },
    { status: 403 },
    { status: 404 },
    { status: 410 },
    { status: 500 },
    { status: 302, headers: { location: "/" } },
    { status: 200 },
    { status: 204, text: () => "" },
    { edit: (body) => ({ ...body, items: null }) },
    { edit: (body) => ({ ...body, kind: "Status" }) },
    { edit: (body) => ({ ...body, items: [{}] }) },
    { edit: () => ({ kind: "Status", reason: "NotFound", code: 404, details: { kind: "namespaces" } }) },
    { edit: (body) => ({ ...body, metadata: { resourceVersion: "7" }, items: [] }), status: 500 },
    { edit: (body) => ({ ...body, metadata: { resourceVersion: "7", remainingItemCount: 1 } }) },
    { text: (text) => text + " ".repeat(3_000) },
  ),
  fc.nat(400).map((length): Fault => ({ text: (text) => text.slice(0, -1 - length) })),
  fc.nat(400).map((cutAt): Fault => ({ cutAt })),
);

/** Faults by the number of the request that they meet. */
const faults = fc.array(fc.option(fault, { freq: 2 }), { maxLength: 14 });
/** What happens in the cluster before each request. */
const events = fc.array(
  fc.oneof(
    fc.nat(20).map((number) => ({ kind: "put", number }) as const),
    fc.nat(20).map((number) => ({ kind: "delete", number }) as const),
    fc.constant({ kind: "expire" } as const),
    fc.constant({ kind: "nothing" } as const),
  ),
  { maxLength: 14 },
);

/** Plays faults and events against one look at pods that stay, pods that come and go, and machines. */
async function play(
  given: {
    readonly faults: readonly (Fault | null)[];
    readonly events: readonly Event[];
    readonly count: number;
  },
  isByName: boolean,
): Promise<readonly string[]> {
  const limits = { bytesMax: 2_500 };
  const { api, clock, source } = stage({ limits, machines: new MachinesMemory() });
  const staying = Array.from({ length: given.count }, (_, number) => `stay-${number}`);
  staying.forEach((name, number) => {
    api.putPod("web", name, "n", [`10.0.0.${number}`]);
    api.putMachine("web", name);
  });
  let request = 0;
  api.onRequest = () => {
    const event = given.events[request];
    const name = event !== undefined && "number" in event ? `go-${event.number}` : "";
    if (event?.kind === "put") api.putPod("web", name, "n", ["10.0.9.9"]);
    if (event?.kind === "delete") api.deletePod("web", name);
    if (event?.kind === "expire") api.expire();
    const met = given.faults[request];
    api.faults = met === null || met === undefined ? [] : [met];
    request += 1;
  };
  const begun = isByName
    ? source.readPods(staying.map((pod) => ({ namespace: "web", pod })))
    : source.podsOn("n");
  const look = await clock.run(begun);
  const read = isByName ? { read: new Set(staying.map((name) => `web/${name}`)) } : {};
  const evidence = kubernetesEvidence(markAt(look.takenAt), {
    ...look,
    ...read,
    scope: isByName ? "cluster" : "host",
  });
  return staying.flatMap((pod, number) => {
    const address = `10.0.0.${number}`;
    const workload = subjectOf({ address, attributes: { namespace: "web", pod } });
    const machine = subjectOf({
      address: "10.7.7.7",
      attributes: { namespace: "web", pod, "vmi-name": pod },
    });
    return [evidence.says(workload, "workload"), evidence.says(machine, "vm")];
  });
}

type Event =
  | { readonly kind: "put" | "delete"; readonly number: number }
  | { readonly kind: "expire" | "nothing" };

it.each([
  ["the list of a node", false],
  ["pods read by name", true],
])("I11: a pod or machine that is there during all of a look is never absent by %s", async (_, isByName) => {
  const seen = new Map<string, number>();
  const arbitrary = fc.record({ faults, events, count: fc.integer({ min: 1, max: 8 }) });
  await fc.assert(
    fc.asyncProperty(arbitrary, async (given) => {
      const answers = await play(given, isByName);
      for (const answer of answers) seen.set(answer, (seen.get(answer) ?? 0) + 1);
      expect(answers).not.toContain("absent");
      expect(answers).not.toContain("absent_here");
    }),
    { numRuns: RUNS },
  );
  // The histories are no use if all looks fail, or none does.
  expect(seen.get("alive")).toBeGreaterThan(RUNS / 4);
  expect(seen.get(isByName ? "unknown" : "unlisted")).toBeGreaterThan(RUNS / 10);
});
