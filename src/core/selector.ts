/**
 * Selectors as trees: whether labels match, why not, and the canonical text.
 * May import: core only. Reading text is in selector-parser.ts.
 */
import { unreachable } from "./invariant.ts";

/** A set of labels. */
export type Labels = Readonly<Record<string, string>>;

/** Invariant: the operand of `not` is not itself a `not`; lists have at least two operands. */
export type Expression =
  | { readonly kind: "all" | "global" }
  | { readonly kind: "has"; readonly key: string }
  | { readonly kind: Comparison; readonly key: string; readonly value: string }
  | { readonly kind: Membership; readonly key: string; readonly values: readonly string[] }
  | { readonly kind: "not"; readonly operand: Expression }
  | { readonly kind: "and" | "or"; readonly operands: readonly Expression[] };

export type Comparison = "==" | "!=" | "contains" | "starts with" | "ends with";
export type Membership = "in" | "not in";

/** Shape: `text` is what was written, without the blanks around it. */
export interface Selector {
  readonly text: string;
  readonly root: Expression;
}

/** Characters of a selector or a value that an explanation repeats. */
const EXCERPT_MAX = 96;
/** Reasons that an explanation lists for one `&&` or `||`. */
const REASONS_MAX = 3;

/** Tells whether a set of labels matches. A label that is absent satisfies only `!=`, `not in` and `!`. */
export function matches(selector: Selector, labels: Labels): boolean {
  return holds(selector.root, labels);
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function holds(expression: Expression, labels: Labels): boolean {
  switch (expression.kind) {
    case "all":
    case "global":
      return true;
    case "not":
      return !holds(expression.operand, labels);
    case "and":
      return expression.operands.every((operand) => holds(operand, labels));
    case "or":
      return expression.operands.some((operand) => holds(operand, labels));
    case "has":
      return labelOf(labels, expression.key) !== undefined;
    case "in":
    case "not in": {
      const value = labelOf(labels, expression.key);
      const isMember = value !== undefined && expression.values.includes(value);
      return isMember === (expression.kind === "in");
    }
    default:
      return compares(expression.kind, labelOf(labels, expression.key), expression.value);
  }
}

function compares(kind: Comparison, value: string | undefined, wanted: string): boolean {
  if (kind === "!=") return value !== wanted;
  if (value === undefined) return false;
  switch (kind) {
    case "==":
      return value === wanted;
    case "contains":
      return value.includes(wanted);
    case "starts with":
      return value.startsWith(wanted);
    case "ends with":
      return value.endsWith(wanted);
    default:
      return unreachable(kind);
  }
}

/**
 * Writes a selector in its one canonical form, for display and comparison.
 * Invariant: the text reads back as an equal tree, up to the order and repetition of sets.
 */
export function canonicalText(selector: Selector): string {
  return written(selector.root);
}

function written(expression: Expression): string {
  switch (expression.kind) {
    case "all":
    case "global":
      return `${expression.kind}()`;
    case "has":
      return `has(${expression.key})`;
    case "not":
      return `!${written(expression.operand)}`;
    case "and":
      return `(${expression.operands.map(written).join(" && ")})`;
    case "or":
      return `(${expression.operands.map(written).join(" || ")})`;
    case "in":
    case "not in": {
      const values = [...new Set(expression.values)].toSorted().map(quoted);
      return `${expression.key} ${expression.kind} {${values.join(", ")}}`;
    }
    default:
      return `${expression.key} ${expression.kind} ${quoted(expression.value)}`;
  }
}

function quoted(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}

/**
 * Says in one short line why labels do not match: `selector gpu == 'true'; no label gpu`.
 * Why: an operator who is refused wants the label to set, not the grammar.
 */
export function explainMismatch(selector: Selector, labels: Labels): string {
  return `selector ${excerpt(selector.text)}; ${reasonFor(selector.root, labels, false)}`;
}

/** Says why an expression has the value that it has. */
function reasonFor(expression: Expression, labels: Labels, value: boolean): string {
  switch (expression.kind) {
    case "all":
    case "global":
      return `${expression.kind}() always holds`;
    case "not":
      return reasonFor(expression.operand, labels, !value);
    case "and":
    case "or": {
      const deciding = expression.operands.filter((operand) => holds(operand, labels) === value);
      const reasons = new Set(deciding.map((operand) => reasonFor(operand, labels, value)));
      return [...reasons].slice(0, REASONS_MAX).join(", ");
    }
    default: {
      const present = labelOf(labels, expression.key);
      if (present === undefined) return `no label ${expression.key}`;
      return `label ${expression.key} is '${excerpt(present)}'`;
    }
  }
}

function excerpt(text: string): string {
  return text.length <= EXCERPT_MAX ? text : `${text.slice(0, EXCERPT_MAX)}…`;
}
