/** Reservations: ranges masked, bounds, all faults at once. */
import { describe, expect, it } from "vitest";
import { defineReservation } from "../../src/core/reservation.ts";

const stamp = { now: 1000, by: "token:ops" };
const later = { now: 2000 };

describe("defineReservation", () => {
  it("masks host bits, takes bare addresses and drops repeated ranges", () => {
    const reservedCIDRs = ["10.0.0.77/24", "10.0.0.5", "FD00::1", "10.0.0.0/24", "10.0.0.0/8"];
    expect(defineReservation("r", { reservedCIDRs, reason: "routers" }, stamp)).toEqual({
      ok: true,
      value: {
        name: "r",
        reservedCIDRs: ["10.0.0.0/24", "10.0.0.5/32", "fd00::1/128", "10.0.0.0/8"],
        reason: "routers",
        revision: 1,
        createdAt: 1000,
        updatedAt: 1000,
        updatedBy: "token:ops",
      },
    });
  });

  it("keeps the age of what it replaces, and the whole of it where nothing changes", () => {
    const first = defineReservation("r", { reservedCIDRs: ["10.0.0.0/24"], reason: "x" }, stamp);
    if (!first.ok) throw new Error("valid");
    const same = defineReservation("r", { reservedCIDRs: ["10.0.0.9/24"], reason: "x" }, later, first.value);
    expect(same.ok && same.value).toBe(first.value);
    expect(defineReservation("r", { reservedCIDRs: ["10.0.0.0/24"] }, later, first.value)).toEqual({
      ok: true,
      value: { name: "r", reservedCIDRs: ["10.0.0.0/24"], revision: 2, createdAt: 1000, updatedAt: 2000 },
    });
    const none = defineReservation("r", { reservedCIDRs: [], reason: "x" }, later, first.value);
    expect(none).toMatchObject({ ok: true, value: { reservedCIDRs: [], revision: 2 } });
  });

  it("reports all faults at once", () => {
    const reservedCIDRs = ["10.0.0.0/24", "", "10.0.0.0/33", "010.0.0.1"];
    const result = defineReservation("R", { reservedCIDRs, reason: "x".repeat(257) }, stamp);
    const errors = !result.ok && result.error.evidence.errors;
    expect(errors).toMatchObject([
      { parameter: "reservation", code: "pattern" },
      { pointer: "/reason", code: "too_long", limit: 256 },
      { pointer: "/reservedCIDRs/1", code: "invalid_cidr" },
      { pointer: "/reservedCIDRs/2", code: "invalid_cidr" },
      { pointer: "/reservedCIDRs/3", code: "invalid_cidr" },
    ]);
  });

  it("takes 256 ranges and no more", () => {
    const ranges = Array.from({ length: 257 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
    expect(defineReservation("r", { reservedCIDRs: ranges.slice(1) }, stamp).ok).toBe(true);
    expect(defineReservation("r", { reservedCIDRs: ranges }, stamp)).toMatchObject({
      ok: false,
      error: { evidence: { errors: [{ pointer: "/reservedCIDRs", code: "too_many", limit: 256 }] } },
    });
  });
});
