/**
 * What a pool may look like: every rule within and between its fields, all faults at once.
 * May import: core only. Neither stored state nor other pools matter here.
 */
import { parseAddress } from "./address.ts";
import { type Cidr, containsAddress, formatCidr, overlaps, parseCidr } from "./cidr.ts";
import { lengthFaults } from "./definition.ts";
import type { FieldFault, FieldFaultCode } from "./errors.ts";
import {
  BLOCK_SIZE_MAX,
  BLOCK_SIZE_MIN,
  CIDR_TEXT_MAX,
  FREE_TEXT_MAX,
  SELECTOR_TEXT_MAX,
  WARN_AT_PERCENT_MAX,
  WARN_AT_PERCENT_MIN,
} from "./limits.ts";
import { ANSWER_PREFIXES, ASSIGNMENT_MODES, TUNNEL_MODES, USES } from "./policy.ts";
import { parseSelector } from "./selector-parser.ts";

/** A pool with its defaults filled in, its texts not yet checked. */
export interface PoolFields {
  readonly blockSize: number;
  readonly disabled: boolean;
  readonly assignmentMode: string;
  readonly allowedUses: readonly string[];
  readonly nodeSelector: string;
  readonly namespaceSelector: string;
  readonly ipipMode: string;
  readonly vxlanMode: string;
  readonly natOutgoing: boolean;
  readonly disableBGPExport: boolean;
  readonly gateway?: string;
  readonly answerPrefix: string;
  readonly warnAtPercent: number;
  readonly description?: string;
}

/** Selects every host; the only node selector of a pool for load balancers. */
export const ALL_SELECTOR = "all()";

/** Ranges that no pool may touch, and why. */
const FORBIDDEN = [
  { range: literal("169.254.0.0/16"), reason: "169.254.0.0/16 is link-local" },
  { range: literal("fe80::/10"), reason: "fe80::/10 is link-local" },
  {
    range: { family: 6, base: 0xffffn << 32n, prefix: 96 } satisfies Cidr,
    reason: "::ffff:0:0/96 holds IPv4-mapped addresses",
  },
] as const;

function literal(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new TypeError(parsed.error.message);
  return parsed.value;
}

function fault(pointer: string, code: FieldFaultCode, message: string): FieldFault {
  return { pointer, code, message };
}

/** The faults of a pool's range as written, given what reading it came to. */
export function rangeFaults(text: string, range: ReturnType<typeof parseCidr>): FieldFault[] {
  if (text === "") return [fault("/cidr", "required", "A pool needs a range, such as 10.0.0.0/16.")];
  if (text.length > CIDR_TEXT_MAX) return lengthFaults("/cidr", text, CIDR_TEXT_MAX);
  if (!range.ok) return [fault("/cidr", range.error.code, range.error.message)];
  const { value } = range;
  return FORBIDDEN.filter((forbidden) => overlaps(forbidden.range, value)).map(({ reason }) =>
    fault(
      "/cidr",
      "invalid_cidr",
      `${formatCidr(value)} overlaps a range that pools may not use: ${reason}.`,
    ),
  );
}

/** The faults of everything but the range; rules that need the range are left out without one. */
export function poolFaults(fields: PoolFields, range: Cidr | undefined): FieldFault[] {
  return [
    ...choiceFaults(fields),
    ...lengthFaults("/description", fields.description, FREE_TEXT_MAX),
    ...selectorFaults("/nodeSelector", fields.nodeSelector),
    ...selectorFaults("/namespaceSelector", fields.namespaceSelector),
    ...useFaults(fields),
    ...tunnelFaults(fields, range),
    ...gatewayFaults(fields, range),
    ...(range === undefined ? [] : blockSizeFaults(fields, range)),
  ];
}

/** Tells whether a text is one of a closed set of choices. */
export function isOneOf<T extends string>(choices: readonly T[], text: string): text is T {
  return (choices as readonly string[]).includes(text);
}

function choiceFaults(fields: PoolFields): FieldFault[] {
  const faults: FieldFault[] = [];
  const check = (pointer: string, choices: readonly string[], text: string): void => {
    if (isOneOf(choices, text)) return;
    faults.push(fault(pointer, "out_of_range", `Choose one of ${choices.join(", ")}.`));
  };
  check("/assignmentMode", ASSIGNMENT_MODES, fields.assignmentMode);
  check("/ipipMode", TUNNEL_MODES, fields.ipipMode);
  check("/vxlanMode", TUNNEL_MODES, fields.vxlanMode);
  check("/answerPrefix", ANSWER_PREFIXES, fields.answerPrefix);
  for (const [index, use] of fields.allowedUses.entries()) check(`/allowedUses/${index}`, USES, use);
  const { warnAtPercent: percent } = fields;
  if (!Number.isInteger(percent) || percent < WARN_AT_PERCENT_MIN || percent > WARN_AT_PERCENT_MAX) {
    const message = `A whole number from ${WARN_AT_PERCENT_MIN} to ${WARN_AT_PERCENT_MAX}.`;
    faults.push(fault("/warnAtPercent", "out_of_range", message));
  }
  return faults;
}

function selectorFaults(pointer: string, text: string): FieldFault[] {
  if (text.length > SELECTOR_TEXT_MAX) return lengthFaults(pointer, text, SELECTOR_TEXT_MAX);
  const forbidden = text.indexOf("global(");
  if (forbidden >= 0) {
    const message = `position ${forbidden}: global() has no meaning in a pool; use all().`;
    return [fault(pointer, "invalid_selector", message)];
  }
  const parsed = parseSelector(text);
  if (parsed.ok) return [];
  const message = `position ${parsed.error.position}: ${parsed.error.message}.`;
  return [fault(pointer, "invalid_selector", message)];
}

function useFaults(fields: PoolFields): FieldFault[] {
  const faults: FieldFault[] = [];
  const refuse = (pointer: string, message: string): void => {
    faults.push(fault(pointer, "conflicting_fields", message));
  };
  if (fields.allowedUses.includes("LoadBalancer")) {
    const of = "A pool for LoadBalancer";
    if (fields.allowedUses.length > 1) refuse("/allowedUses", `${of} has no other use.`);
    if (fields.ipipMode !== "Never") refuse("/ipipMode", `${of} has no tunnels: set Never.`);
    if (fields.vxlanMode !== "Never") refuse("/vxlanMode", `${of} has no tunnels: set Never.`);
    if (fields.disableBGPExport) refuse("/disableBGPExport", `${of} is exported: set false.`);
    if (fields.nodeSelector !== ALL_SELECTOR) {
      refuse("/nodeSelector", `${of} is for all hosts: set ${ALL_SELECTOR}.`);
    }
  }
  if (fields.allowedUses.includes("Tunnel") && fields.namespaceSelector !== "") {
    const message = 'Tunnels have no namespace: set allowedUses to ["Workload"], or drop the selector.';
    refuse("/namespaceSelector", message);
  }
  return faults;
}

function tunnelFaults(fields: PoolFields, range: Cidr | undefined): FieldFault[] {
  const faults: FieldFault[] = [];
  const tunnels = fields.ipipMode !== "Never";
  if (tunnels && fields.vxlanMode !== "Never") {
    faults.push(fault("/vxlanMode", "conflicting_fields", "Set either ipipMode or vxlanMode to Never."));
  }
  if (tunnels && range?.family === 6) {
    faults.push(fault("/ipipMode", "conflicting_fields", "IP-in-IP carries IPv4 only: set Never."));
  }
  return faults;
}

function blockSizeFaults({ blockSize, disabled }: PoolFields, range: Cidr): FieldFault[] {
  const { family, prefix } = range;
  const [least, most] = [BLOCK_SIZE_MIN[family], BLOCK_SIZE_MAX[family]];
  if (!Number.isInteger(blockSize) || blockSize < least || blockSize > most) {
    const message = `The block size of an IPv${family} pool is a prefix length from ${least} to ${most}.`;
    return [fault("/blockSize", "block_size", message)];
  }
  if (prefix <= blockSize || disabled) return [];
  const message = `${formatCidr(range)} is smaller than one block: set blockSize to ${prefix} or more.`;
  return [fault("/blockSize", "block_size", message)];
}

function gatewayFaults({ gateway }: PoolFields, range: Cidr | undefined): FieldFault[] {
  if (gateway === undefined) return [];
  const parsed = parseAddress(gateway);
  if (!parsed.ok) return [fault("/gateway", "invalid_address", parsed.error.message)];
  if (range === undefined) return [];
  if (parsed.value.family !== range.family) {
    return [fault("/gateway", "wrong_family", `The gateway of this pool is an IPv${range.family} address.`)];
  }
  if (containsAddress(range, parsed.value)) return [];
  return [fault("/gateway", "out_of_range", `The gateway lies in the pool: ${formatCidr(range)}.`)];
}
