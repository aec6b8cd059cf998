/** On one machine a sweep leaves those who allocate the time in between; elsewhere it need not. */
import { expect, test } from "vitest";
import { audited, SweepStage } from "./sweep-stage.ts";

const HOSTS = Array.from({ length: 100 }, (_, n) => `node-${n}`);

/** When each host was visited, for the rest that a platform has. */
async function visitTimes(sweepRestMs: number): Promise<number[]> {
  const stage = new SweepStage({ settings: { tickMs: 0, sweepRestMs } });
  const times: number[] = [];
  await stage.enrol(...HOSTS);
  for (const host of HOSTS) {
    stage.answers.set(host, (_request, now) => {
      times.push(now);
      return audited(now);
    });
  }
  await stage.tick();
  await stage.world.advance(900);
  return times;
}

/** The most hosts that were visited within a time, ms. */
function mostWithin(times: readonly number[], ms: number): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
}

test("a sweep of one event rests after each lot of hosts where all share a thread", async () => {
  const rested = await visitTimes(100);
  expect(rested).toHaveLength(HOSTS.length);
  expect(mostWithin(rested, 100)).toBeLessThanOrEqual(8);
  const pressed = await visitTimes(0);
  expect(pressed).toHaveLength(HOSTS.length);
  expect(mostWithin(pressed, 100)).toBeGreaterThan(8);
});

test("the rest is fourteen times as long as the lot took, and half a second at most", async () => {
  const restAfter = async (tookMs: number): Promise<number> => {
    const stage = new SweepStage({ settings: { tickMs: 0, sweepRestMs: 20 } });
    const begun: number[] = [];
    const hosts = HOSTS.slice(0, 9);
    await stage.enrol(...hosts);
    for (const host of hosts) {
      stage.answers.set(host, async (_request, now) => {
        begun.push(now);
        await stage.world.sleep(tookMs);
        return audited(now);
      });
    }
    await stage.tick();
    await stage.world.advance(5_000);
    const [first = 0, last = 0] = [Math.max(...begun.slice(0, 8)), begun.at(-1)];
    expect(begun).toHaveLength(9);
    return last - first - tookMs;
  };
  expect(await restAfter(20)).toBeGreaterThanOrEqual(280);
  expect(await restAfter(20)).toBeLessThan(450);
  expect(await restAfter(200)).toBeGreaterThanOrEqual(500);
  expect(await restAfter(200)).toBeLessThan(800);
});
