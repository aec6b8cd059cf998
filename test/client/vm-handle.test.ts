/** The handle of a virtual machine: what it is made of, and what becomes of a long name. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { vmHandle } from "../../src/client/vm-handle.ts";
import { HANDLE_PATTERN } from "../../src/core/limits.ts";

const PREFIX = "k8s-pod-network.vmi.";
const digest = (text: string) => createHash("sha256").update(text).digest("base64url");

describe("the handle of a virtual machine", () => {
  test("is network, namespace and name", async () => {
    expect(await vmHandle({ namespace: "default", vm: "vm1" })).toBe("k8s-pod-network.vmi.default.vm1");
    expect(await vmHandle({ network: "", namespace: "a", vm: "b" })).toBe("k8s-pod-network.vmi.a.b");
    expect(await vmHandle({ network: "n", namespace: "vmi", vm: "a.b" })).toBe("n.vmi.vmi.a.b");
  });

  test("is whole up to 128 characters, then ends in a digest of the rest", async () => {
    const whole = "v".repeat(128 - PREFIX.length - "ns.".length);
    expect(await vmHandle({ namespace: "ns", vm: whole })).toBe(`${PREFIX}ns.${whole}`);
    const longer = `${whole}v`;
    expect(await vmHandle({ namespace: "ns", vm: longer })).toBe(`${PREFIX}_${digest(`ns.${longer}`)}`);
  });

  test("cannot be taken for a digest", async () => {
    const vm = "v".repeat(128 - PREFIX.length - "_s.".length);
    expect(await vmHandle({ namespace: "_s", vm })).toBe(`${PREFIX}_${digest(`_s.${vm}`)}`);
  });

  test("keeps enough of the digest under a long network, and stays a handle", async () => {
    for (const length of [84, 100, 121, 200]) {
      const network = "n".repeat(length);
      const [one, other] = await Promise.all(
        ["a", "b"].map((vm) => vmHandle({ network, namespace: "ns", vm: vm.repeat(60) })),
      );
      expect(one).not.toBe(other);
      expect(one).toMatch(HANDLE_PATTERN);
      expect(one?.split("._").at(-1)?.length ?? 0).toBeGreaterThanOrEqual(22);
    }
  });
});
