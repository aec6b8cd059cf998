/** What agents in random histories may truthfully say of a pod. */
import { expect, test } from "vitest";
import { Pods } from "../../support/simulation/collector/pods.ts";
import type { Asked } from "../../support/simulation/scene.ts";

test("I11: a pod that repeats a request after its handle's owners were changed is not known by its name", () => {
  let events = 0;
  const pods = new Pods(() => ++events);
  const asks = (key: string): void =>
    pods.asks({ host: "a", handle: "h", key, begun: ++events } as unknown as Asked);
  asks("key");
  pods.rename("h");
  pods.end({ handle: "h" });
  asks("key");
  expect(pods.alive().map(({ isRenamed }) => isRenamed)).toEqual([true]);
});
