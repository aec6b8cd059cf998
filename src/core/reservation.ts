/**
 * Reservations: ranges that no automatic allocation takes addresses from.
 * May import: core only. A reservation never releases anything.
 */
import { formatCidr, parseCidrMasked } from "./cidr.ts";
import { lengthFaults, nameFaults, nextRevision, type Stamp } from "./definition.ts";
import { type FieldFault, type Rejection, rejection } from "./errors.ts";
import { FREE_TEXT_MAX, RESERVED_CIDRS_MAX } from "./limits.ts";
import type { ReservationDefinition } from "./policy.ts";
import { err, ok, type Result } from "./result.ts";

/** A reservation as asked for. Shape: ranges may overlap, nest, repeat and have host bits. */
export interface ReservationSpec {
  readonly reservedCIDRs: readonly string[];
  readonly reason?: string | undefined;
}

/**
 * Makes or replaces a reservation; host bits are masked and repeated ranges dropped, order kept.
 * One that changes nothing gives back the very same definition.
 * Rejects: a name, range or reason out of its bounds, all faults at once.
 */
export function defineReservation(
  name: string,
  spec: ReservationSpec,
  stamp: Stamp,
  current?: ReservationDefinition,
): Result<ReservationDefinition, Rejection<"invalid_request">> {
  const faults = [...nameFaults(name, "reservation"), ...boundFaults(spec)];
  const ranges: string[] = [];
  for (const [index, text] of spec.reservedCIDRs.slice(0, RESERVED_CIDRS_MAX).entries()) {
    const parsed = parseCidrMasked(text);
    if (parsed.ok) ranges.push(formatCidr(parsed.value));
    else {
      const { message } = parsed.error;
      faults.push({ pointer: `/reservedCIDRs/${index}`, code: "invalid_cidr", message });
    }
  }
  if (faults.length > 0) return err(rejection("invalid_request", { errors: faults }));
  const reservedCIDRs = [...new Set(ranges)];
  if (current !== undefined && isUnchanged(current, reservedCIDRs, spec.reason)) return ok(current);
  return ok({
    name,
    reservedCIDRs,
    ...(spec.reason === undefined ? {} : { reason: spec.reason }),
    createdAt: current?.createdAt ?? stamp.now,
    ...nextRevision(current, stamp),
  });
}

function boundFaults(spec: ReservationSpec): FieldFault[] {
  const faults = lengthFaults("/reason", spec.reason, FREE_TEXT_MAX);
  if (spec.reservedCIDRs.length > RESERVED_CIDRS_MAX) {
    const message = `A reservation has at most ${RESERVED_CIDRS_MAX} ranges: use several reservations.`;
    faults.push({ pointer: "/reservedCIDRs", code: "too_many", message, limit: RESERVED_CIDRS_MAX });
  }
  return faults;
}

function isUnchanged(
  current: ReservationDefinition,
  ranges: readonly string[],
  reason: string | undefined,
): boolean {
  return current.reason === reason && current.reservedCIDRs.join() === ranges.join();
}
