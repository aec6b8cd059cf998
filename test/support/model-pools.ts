/**
 * Pools of the in-memory reference: what one may look like, and which of them a request may use.
 * May import: core ranges and selectors only.
 */
import { type Cidr, formatCidr, overlaps, parseCidr, parseCidrMasked } from "../../src/core/cidr.ts";
import type { Family } from "../../src/core/errors.ts";
import { matches } from "../../src/core/selector.ts";
import { parseSelector } from "../../src/core/selector-parser.ts";

/** A pool as somebody writes it; what is absent takes its default. */
export interface PoolText {
  readonly name: string;
  readonly cidr: string;
  readonly blockSize?: number;
  readonly disabled?: boolean;
  readonly terminating?: boolean;
  readonly nodeSelector?: string;
  readonly namespaceSelector?: string;
  readonly allowedUses?: readonly string[];
  readonly assignmentMode?: string;
  readonly ipipMode?: string;
  readonly vxlanMode?: string;
}

export interface ModelPool extends Required<PoolText> {
  readonly range: Cidr;
}

type Labels = Readonly<Record<string, string>>;

const USES = ["Workload", "Tunnel", "LoadBalancer"];
const BLOCK_SIZES = { 4: { least: 20, usual: 26, most: 32 }, 6: { least: 116, usual: 122, most: 128 } };
const LINK_LOCAL = ["169.254.0.0/16", "fe80::/10"].map(rangeOf);

function rangeOf(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.error.message}`);
  return parsed.value;
}

/** Reads a pool and fills in its defaults. Absent: some field by itself, or two together, are wrong. */
export function readPool(text: PoolText): ModelPool | undefined {
  const range = parseCidr(text.cidr);
  if (!range.ok) return undefined;
  const namespaceSelector = text.namespaceSelector ?? "";
  // A pool for the pods of a namespace has no tunnels unless somebody says so.
  const usual = namespaceSelector === "" ? ["Workload", "Tunnel"] : ["Workload"];
  const pool: ModelPool = {
    name: text.name,
    cidr: formatCidr(range.value),
    range: range.value,
    blockSize: text.blockSize || BLOCK_SIZES[range.value.family].usual,
    disabled: text.disabled ?? false,
    terminating: text.terminating ?? false,
    nodeSelector: text.nodeSelector ?? "all()",
    namespaceSelector,
    allowedUses: text.allowedUses?.length ? text.allowedUses : usual,
    assignmentMode: text.assignmentMode ?? "Automatic",
    ipipMode: text.ipipMode ?? "Never",
    vxlanMode: text.vxlanMode ?? "Never",
  };
  return isSound(pool) ? pool : undefined;
}

function isSound(pool: ModelPool): boolean {
  const { range, blockSize, allowedUses, nodeSelector, namespaceSelector, ipipMode, vxlanMode } = pool;
  const { least, most } = BLOCK_SIZES[range.family];
  const tunnels = [ipipMode, vxlanMode].filter((mode) => mode !== "Never");
  const selectors = [nodeSelector, namespaceSelector];
  const isForLoadBalancers = allowedUses.includes("LoadBalancer");
  const rules = [
    blockSize >= least && blockSize <= most,
    range.prefix <= blockSize,
    LINK_LOCAL.every((forbidden) => !overlaps(forbidden, range)),
    selectors.every((text) => parseSelector(text).ok && !text.includes("global(")),
    allowedUses.every((use) => USES.includes(use)),
    ["Automatic", "Manual"].includes(pool.assignmentMode),
    [ipipMode, vxlanMode].every((mode) => ["Never", "Always", "CrossSubnet"].includes(mode)),
    tunnels.length < 2,
    range.family === 4 || ipipMode === "Never",
    !isForLoadBalancers || (allowedUses.length === 1 && tunnels.length === 0 && nodeSelector === "all()"),
    !(allowedUses.includes("Tunnel") && namespaceSelector !== ""),
  ];
  return rules.every((holds) => holds);
}

/** What decides which pools a request may use. */
export interface PoolQuestion {
  readonly family: Family;
  readonly use: string;
  readonly hostLabels: Labels;
  readonly namespaceLabels: Labels | undefined;
  readonly pools: readonly string[] | undefined;
  readonly setAside: number;
}

export type PoolVerdict =
  | { readonly pools: readonly ModelPool[] }
  | {
      readonly code: "requested_pool_unavailable" | "no_qualified_pool" | "no_pool_selects_host";
      readonly pool?: string;
    };

/** Which pools a request may use, in the order to be tried; or why none. */
export function choosePools(all: Iterable<ModelPool>, question: PoolQuestion): PoolVerdict {
  const longest = longestPrefix(question.family, question.setAside);
  const candidates = [...all]
    .filter(({ range, disabled, terminating }) => {
      return range.family === question.family && !disabled && !terminating;
    })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const largeEnough = candidates.filter(({ blockSize }) => blockSize <= longest);
  if (candidates.length > 0 && largeEnough.length === 0) return { code: "no_qualified_pool" };
  const selected: ModelPool[] = [];
  if (question.pools?.length) {
    for (const wanted of question.pools) {
      const pool = largeEnough.find(({ name, cidr }) => name === wanted || cidr === maskedText(wanted));
      if (pool === undefined) return { code: "requested_pool_unavailable", pool: wanted };
      selected.push(pool);
    }
  } else {
    if (largeEnough.length === 0) return { code: "no_qualified_pool" };
    selected.push(...largeEnough.filter((pool) => selects(pool, question)));
    if (selected.length === 0) return { code: "no_pool_selects_host" };
  }
  const pools = selected.filter(({ allowedUses }) => allowedUses.includes(question.use));
  return pools.length === 0 ? { code: "no_qualified_pool" } : { pools };
}

/** The longest block prefix that leaves an address beside those set aside. */
function longestPrefix(family: Family, setAside: number): number {
  const width = family === 4 ? 32 : 128;
  let bits = 0;
  while (2 ** bits <= setAside) bits += 1;
  return width - bits;
}

/** Tells whether a pool selects a host and a namespace of its own accord. */
export function selects(
  pool: ModelPool,
  { hostLabels, namespaceLabels }: Pick<PoolQuestion, "hostLabels" | "namespaceLabels">,
): boolean {
  if (pool.assignmentMode === "Manual") return false;
  return holds(pool.nodeSelector, hostLabels) && holds(pool.namespaceSelector, namespaceLabels ?? {});
}

/** Tells whether a selector holds for labels; the text was read before. */
export function holds(text: string, labels: Labels): boolean {
  const selector = parseSelector(text);
  if (!selector.ok) throw new Error(`${text} is no selector`);
  return matches(selector.value, labels);
}

function maskedText(text: string): string | undefined {
  const range = text.includes("/") ? parseCidrMasked(text) : undefined;
  return range?.ok ? formatCidr(range.value) : undefined;
}
