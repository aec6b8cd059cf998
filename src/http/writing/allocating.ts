/**
 * What allocate and assign share: the request's key, stamped attributes, faults between fields.
 * May import: core and http.
 */
import type { Attributes } from "../../core/allocation.ts";
import { parseCidr } from "../../core/cidr.ts";
import type { FieldFault } from "../../core/errors.ts";
import type { Call } from "../operation.ts";
import type { HeaderValues } from "../schemas/headers.ts";

/** The caller's key, or one made for this request alone. Why: never derived from the body (R11). */
export function keyOf(headers: HeaderValues, call: Call): string {
  return headers.idempotencyKey ?? call.unique();
}

/** Stamps the host on the owner's attributes. */
export function withHost(attributes: Attributes | undefined, host: string): Attributes {
  return { ...attributes, node: host };
}

/** Finds what two fields of an allocation say against each other. Shape: well-formed members only. */
export function allocationReview(body: Record<string, unknown>, faulty: ReadonlySet<string>): FieldFault[] {
  return [...nothingRequested(body, faulty), ...wrongFamilies(body), ...assignReview(body)];
}

/** Finds attributes that contradict the host. */
export function assignReview(body: Record<string, unknown>): FieldFault[] {
  const node = (body.attributes as Attributes | undefined)?.node;
  if (node === undefined || typeof body.host !== "string" || node === body.host) return [];
  const message = "is stamped by the service: leave it out, or give the request's host";
  return [{ pointer: "/attributes/node", code: "attribute_conflict", message }];
}

interface FamilyFields {
  readonly count?: number;
  readonly pools?: readonly string[];
}

/** The families of a request; a family with a fault of its own is not there. */
function familiesOf(body: Record<string, unknown>) {
  return [
    { name: "ipv4", family: 4, fields: body.ipv4 as FamilyFields | undefined },
    { name: "ipv6", family: 6, fields: body.ipv6 as FamilyFields | undefined },
  ] as const;
}

function nothingRequested(body: Record<string, unknown>, faulty: ReadonlySet<string>): FieldFault[] {
  // A family that is wrong in itself was asked for.
  if (faulty.has("ipv4") || faulty.has("ipv6")) return [];
  if (familiesOf(body).some(({ fields }) => (fields?.count ?? 0) > 0)) return [];
  const message = "must ask for at least one address: ipv4.count or ipv6.count";
  return [{ pointer: "", code: "nothing_requested", message }];
}

function wrongFamilies(body: Record<string, unknown>): FieldFault[] {
  return familiesOf(body).flatMap(({ name, family, fields }) =>
    (fields?.pools ?? []).flatMap((pool, index): FieldFault[] => {
      const cidr = parseCidr(pool);
      if (!cidr.ok || cidr.value.family === family) return [];
      const message = `is a range of IPv${cidr.value.family}`;
      return [{ pointer: `/${name}/pools/${index}`, code: "wrong_family", message }];
    }),
  );
}
