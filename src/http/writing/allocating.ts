/**
 * What allocate and assign share: the request's key, stamped attributes, faults between fields.
 * May import: core, rpc types and http.
 */
import type { Attributes } from "../../core/allocation.ts";
import { parseCidr } from "../../core/cidr.ts";
import type { FieldFault } from "../../core/errors.ts";
import type { HostExplainRequest } from "../../rpc/host.ts";
import type { Principal } from "../auth.ts";
import type { Present } from "../omit-absent.ts";
import type { Call, WholeBody } from "../operation.ts";
import type { Wire } from "../schemas/components.ts";
import type { HeaderValues } from "../schemas/headers.ts";

type AllocationBody = Present<Wire["AllocationRequest"]>;

/** The caller's key, or one made for this request alone. Why: never derived from the body (R11). */
export function keyOf(headers: HeaderValues, call: Call): string {
  return headers.idempotencyKey ?? call.unique();
}

/** A request as its Host takes it, without what makes it one that is repeated. Shape: plain, without undefined. */
export function wishOf(body: AllocationBody, { role }: Principal): HostExplainRequest {
  const { namespace, explain: _words, use, attributes, partial, leakCollection, ...request } = body;
  return {
    ...request,
    // The active owner of another host's address is not an agent's to replace.
    ...(role === "agent" && request.ownerSlot === "active" ? { ownerSlot: "own_active" } : {}),
    ...(namespace === undefined ? {} : { namespaceLabels: namespace.labels ?? {} }),
    use: use ?? "Workload",
    attributes: withHost(attributes, body.host),
    partial: partial ?? false,
    leakCollection: leakCollection ?? "auto",
  };
}

/** Stamps the host on the owner's attributes. */
export function withHost(attributes: Attributes | undefined, host: string): Attributes {
  return { ...attributes, node: host };
}

/** Finds what two fields of an allocation say against each other. Shape: well-formed members only. */
export function allocationReview(body: Record<string, unknown>, faulty: ReadonlySet<string>): FieldFault[] {
  return [...nothingRequested(body, faulty), ...wrongFamilies(body), ...assignReview(body)];
}

/** Finds, item by item, what the fields of a batch say against each other. */
export function batchReview(
  body: Record<string, unknown>,
  _faulty: ReadonlySet<string>,
  whole: WholeBody,
): FieldFault[] {
  const items = Array.isArray(whole.body.items) ? whole.body.items : [];
  return items.flatMap((item: unknown, index): FieldFault[] => {
    if (typeof item !== "object" || item === null) return [];
    const at = `/items/${index}`;
    const isFaulty = (key: string) => whole.pointers.some((one) => `${one}/`.startsWith(`${at}/${key}/`));
    const [faulty, sound] = [Object.keys(item).filter(isFaulty), Object.entries(item)];
    const members = Object.fromEntries(sound.filter(([key]) => !faulty.includes(key)));
    const faults = allocationReview({ ...members, host: body.host }, new Set(faulty));
    return faults.map((fault) => ({ ...fault, pointer: `${at}${fault.pointer ?? ""}` }));
  });
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
