/**
 * Runs checks of consistency in a simulated deployment, from start to end.
 * May import: the simulation, src. Rule: virtual time is bounded; a check that does not end is an error.
 */
import {
  type CheckRequest,
  type CheckView,
  isOnlyTold,
  type ListedFinding,
} from "../../../src/core/check.ts";
import type { Scene } from "./scene.ts";

/** Virtual milliseconds within which a check of a small deployment ends. */
const CHECK_MAX_MS = 600_000;
const STEP_MS = 1_000;

export interface Checked {
  readonly view: CheckView;
  readonly findings: readonly ListedFinding[];
}

/** Starts a check; the id of it, or of the one that runs. */
export async function startCheck(scene: Scene, request: Partial<CheckRequest> = {}): Promise<string> {
  const sweep = scene.deployed.ports.sweep();
  const started = await scene.world.during(sweep.startCheck({ repair: false, ...request }));
  return started.ok ? started.value.id : started.error.evidence.field;
}

/** Runs a check to its end, and reads what it found. */
export async function check(scene: Scene, request: Partial<CheckRequest> = {}): Promise<Checked> {
  return await awaitCheck(scene, await startCheck(scene, request));
}

export async function awaitCheck(scene: Scene, id: string): Promise<Checked> {
  for (let waited = 0; waited < CHECK_MAX_MS; waited += STEP_MS) {
    const checked = await readCheck(scene, id);
    if (checked.view.state !== "running") return checked;
    await scene.world.advance(STEP_MS);
  }
  throw new Error(`check ${id} did not end:\n${scene.world.report()}`);
}

export async function readCheck(scene: Scene, id: string): Promise<Checked> {
  const read = () => scene.deployed.ports.sweep().getCheck({ id, limit: 1_000 });
  // The Sweep may be cut off while it is asked.
  const { view, findings } = await scene.world.during(read()).catch(() => scene.world.during(read()));
  if (view === undefined) throw new Error(`there is no check ${id}`);
  return { view, findings };
}

/** Where records disagree, as lines: problem, place, whether mended. What is only told of is left out. */
export function lines({ findings }: Checked): string[] {
  const wrong = findings.filter((finding) => !isOnlyTold(finding));
  return wrong.map(({ problem, block, host, handle, repaired }) => {
    const mended = repaired === undefined ? undefined : repaired ? "repaired" : "left";
    return [problem, block, host, handle, mended].filter((part) => part !== undefined).join(" ");
  });
}

/** What is only told of, as lines: problem, address, host, the reason or the count. */
export function reports({ findings }: Checked): string[] {
  return findings.filter(isOnlyTold).map(({ problem, address, host, other, repaired }) => {
    const mended = repaired === undefined ? undefined : repaired ? "repaired" : "left";
    return [problem, address, host, other, mended].filter((part) => part !== undefined).join(" ");
  });
}
