/** The Sweep with the real Hosts and blocks: what is leaked goes, what is stopped stays, and checks go on. */
import { describe, expect, test } from "vitest";
import { awaitCheck, lines, startCheck } from "../../support/simulation/checks.ts";
import { Scene } from "../../support/simulation/scene.ts";
import { MINUTE, SWEEP } from "./sweep-stage.ts";

const POOLS = { default: { cidr: "10.0.0.0/20", blockSize: 26 } };

/** Hosts of ten pods each; their agents report until a pod is gone. */
class Fleet {
  readonly scene: Scene;
  readonly hosts: readonly string[];
  readonly pods = new Map<string, Set<string>>();
  #sequence = 0;

  constructor(scene: Scene, hosts: readonly string[]) {
    this.scene = scene;
    this.hosts = hosts;
  }

  static async open(hosts: readonly string[], settings = {}): Promise<Fleet> {
    const config = { leakGraceSeconds: 600, staleReportSeconds: 300 };
    const fleet = new Fleet(await Scene.open({ pools: POOLS, hosts, config, settings }), hosts);
    for (const host of hosts) {
      const pods = Array.from({ length: 10 }, (_, n) => `${host}-${n}`);
      fleet.pods.set(host, new Set(pods));
      for (const pod of pods) {
        const attributes = { namespace: "web", pod };
        const wish = { handle: `net.${pod}`, v4: 1, attributes };
        expect((await fleet.world.during(fleet.scene.allocate(host, wish))).kind).toBe("ok");
      }
    }
    return fleet;
  }

  get world() {
    return this.scene.world;
  }

  get sweep() {
    return this.scene.deployed.ports.sweep();
  }

  /** Each agent reports what lives on its host; incarnations are those of the registration. */
  async report(hosts = this.hosts): Promise<void> {
    this.#sequence += 1;
    for (const host of hosts) {
      const workloads = [...(this.pods.get(host) ?? [])].map((pod) => {
        return { handle: `net.${pod}`, namespace: "web", pod, addresses: [] as string[] };
      });
      const request = { incarnation: "one", sequence: this.#sequence, ageMs: 0, complete: true, workloads };
      const said = await this.world.during(
        this.scene.deployed.ports.host(host).reportWorkloads({ host, ...request }),
      );
      expect(said.ok && said.value.accepted).toBe(true);
    }
  }

  /** So many minutes, each with a call of the trigger, every other with reports. */
  async minutes(count: number, reporting = this.hosts): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      if (minute % 2 === 0) await this.report(reporting);
      await this.world.during(this.sweep.tick({ source: "cron" }));
      await this.world.advance(MINUTE);
    }
  }

  async gc() {
    return await this.world.during(this.sweep.getGc({}));
  }

  /** Pods that hold an address. */
  async held(host: string): Promise<number> {
    const { hosts } = await this.world.during(this.sweep.hostFigures({ limit: 100 }));
    return hosts.find((told) => told.host === host)?.figures.allocated ?? -1;
  }
}

const EDGE = { tickMs: 0 };

describe("leaked pods", () => {
  test("go after two reports more than the grace apart and a third one, and the Sweep tells of it", async () => {
    const fleet = await Fleet.open(["a", "b"], EDGE);
    await fleet.minutes(4);
    for (const pod of ["a-0", "a-1", "b-9"]) fleet.pods.get(pod.slice(0, 1))?.delete(pod);
    await fleet.minutes(8);
    const early = await fleet.gc();
    expect(early.counts.candidates).toBe(3);
    expect(early.releasedLastHour).toBe(0);
    await fleet.minutes(16);
    const late = await fleet.gc();
    expect(late).toMatchObject({ state: "idle", releasedLastHour: 3, hostsStale: 0, hostsNeverReported: 0 });
    expect(late.counts).toEqual({ candidates: 0, confirmed: 0, held: 0 });
    expect([await fleet.held("a"), await fleet.held("b")]).toEqual([8, 9]);
  });

  test("I11: stay while their agent is silent, and while the collector is paused", async () => {
    const fleet = await Fleet.open(["a", "b"], EDGE);
    await fleet.minutes(4);
    fleet.pods.get("a")?.delete("a-0");
    fleet.pods.get("b")?.delete("b-0");
    await fleet.minutes(6);
    const by = { by: "token:ops" };
    await fleet.world.during(fleet.sweep.changeGc({ paused: true, reason: "test", ...by }));
    // From here on, only b reports.
    await fleet.minutes(30, ["b"]);
    const gc = await fleet.gc();
    expect(gc).toMatchObject({ state: "paused", releasedLastHour: 0, hostsStale: 1 });
    // That of b is confirmed, and held.
    expect(gc.counts).toEqual({ candidates: 1, confirmed: 0, held: 1 });
    await fleet.world.during(fleet.sweep.changeGc({ paused: false, ...by }));
    await fleet.minutes(6, ["b"]);
    expect(await fleet.gc()).toMatchObject({ releasedLastHour: 1 });
    await fleet.minutes(10, ["b"]);
    expect([await fleet.held("a"), await fleet.held("b")]).toEqual([10, 9]);
  });
});

describe("a check", () => {
  test("and a sweep that run at once both come to their end, a slice of one per event", async () => {
    const hosts = Array.from({ length: 24 }, (_, n) => `n${n}`);
    const fleet = await Fleet.open(hosts, EDGE);
    const id = await startCheck(fleet.scene);
    await fleet.world.during(fleet.sweep.startSweep({ by: "test" }));
    const checked = await awaitCheck(fleet.scene, id);
    expect(checked.view.state).toBe("done");
    expect(lines(checked)).toEqual([]);
    await fleet.world.advance(10_000);
    expect(await fleet.gc()).toMatchObject({ state: "idle", sweep: 1, backlogHosts: 0 });
    expect(fleet.world.alarmOf(SWEEP)).toBeNull();
  });
});
