/** The selector language: meaning, faults with position, canonical text, explanations. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canonicalText,
  explainMismatch,
  type Labels,
  matches,
  type Selector,
} from "../../src/core/selector.ts";
import { parseSelector } from "../../src/core/selector-parser.ts";
import { labelSets, selectorTexts } from "./arbitraries.ts";

interface SelectorCase {
  id: string;
  steps: {
    args: { expression: string; labels: Labels };
    expect: { match?: boolean; error?: { kind: "selectorSyntax" } };
  }[];
}

const cases = readFileSync(new URL("./cases/selector.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line): SelectorCase => JSON.parse(line));

function selector(text: string): Selector {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(`${parsed.error.position}: ${parsed.error.message}`);
  return parsed.value;
}

describe("conformance cases", () => {
  const steps = cases.flatMap(({ id, steps }) => steps.map((step) => ({ id, ...step })));
  it("are all there", () => expect(steps).toHaveLength(58));

  it.each(steps)("$id: $args.expression on $args.labels", ({ args, expect: expected }) => {
    const parsed = parseSelector(args.expression);
    if (expected.error !== undefined) expect(parsed.ok).toBe(false);
    else expect(parsed.ok && matches(parsed.value, args.labels)).toBe(expected.match);
  });
});

describe("parseSelector", () => {
  it.each([
    ["a", 1, /operator such as == after a, found the end/],
    ["a = 'x'", 2, /operator/],
    ["a == 'x' & has(b)", 9, /unexpected "&"/],
    ["a == 'x' &&", 11, /expected a label.*found the end/],
    ["a == x", 5, /value in quotes, found "x"/],
    ["a == 'x", 5, /not closed/],
    ["(a == 'x'", 9, /missing \) for the \( at position 0/],
    ["a == 'x')", 8, /unexpected "\)"/],
    ["a in {'x' 'y'}", 10, /, or } in a set/],
    ["a in {,}", 6, /value in quotes/],
    ["has(a", 5, /missing \)/],
    ["has()", 4, /expected a label/],
    ["All()", 3, /operator/],
    ["a == 'x'\n", 8, /unexpected "\\n"/],
    ["()", 1, /expected a label/],
    [`${"k".repeat(513)} == 'x'`, 0, /at most 512/],
    [`a == '${"x".repeat(1024)}'`, 1024, /at most 1024/],
  ])("points at the fault of %j", (text, position, message) => {
    const parsed = parseSelector(text);
    expect(parsed).toMatchObject({ ok: false, error: { position } });
    if (!parsed.ok) expect(parsed.error.message).toMatch(message);
  });

  it("never throws, and its position lies in the text", () => {
    const pieces = ["a", "==", "'", "(", ")", "!", "&&", "||", "in", "{", "}", ",", " ", "has(", "all()"];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces)), (parts) => {
        const text = parts.join("");
        const parsed = parseSelector(text);
        if (!parsed.ok) expect(parsed.error.position).toBeLessThanOrEqual(text.length);
      }),
    );
  });

  it("reads the deepest nesting that fits", () => {
    const depth = 507;
    expect(selector(`${"(".repeat(depth)}has(a)${")".repeat(depth)}`).root).toEqual({
      kind: "has",
      key: "a",
    });
    expect(selector(`${"!(".repeat(338)}has(a)${")".repeat(338)}`).root).toEqual({ kind: "has", key: "a" });
    expect(selector(`${"!".repeat(1017)}has(a)`).root).toMatchObject({ kind: "not" });
  });

  it("gives and a tighter hold than or", () => {
    expect(canonicalText(selector("has(a) || has(b) && !has(c)"))).toBe("(has(a) || (has(b) && !has(c)))");
  });

  it("keeps an inherited name from being a label", () => {
    expect(matches(selector("has(constructor)"), {})).toBe(false);
    expect(matches(selector("toString != 'x'"), {})).toBe(true);
  });
});

describe("canonicalText", () => {
  it.each([
    ["", "all()"],
    ["a=='b'", 'a == "b"'],
    [`a == 'say "x"'`, `a == 'say "x"'`],
    ["a notin {'y','x' , 'y',}", 'a not in {"x", "y"}'],
    ["a startswith 'x'&&b ends\twith 'y'", '(a starts with "x" && b ends with "y")'],
    ["!!!has( a )", "!has(a)"],
    ["!(!has(a))", "has(a)"],
    ["((a contains 'x'))", 'a contains "x"'],
    ["(has(a)&&has(b))&&has(c)", "((has(a) && has(b)) && has(c))"],
  ])("writes %j as %j", (text, canonical) => {
    expect(canonicalText(selector(text))).toBe(canonical);
  });

  it("reads back as itself, with the same meaning", () => {
    fc.assert(
      fc.property(selectorTexts, labelSets, (text, labels) => {
        const parsed = parseSelector(text);
        fc.pre(parsed.ok);
        const canonical = canonicalText(parsed.value);
        fc.pre(canonical.length <= 1024);
        const again = selector(canonical);
        expect(canonicalText(again)).toBe(canonical);
        expect(matches(again, labels)).toBe(matches(parsed.value, labels));
      }),
    );
  });

  it("agrees with the laws of logic", () => {
    fc.assert(
      fc.property(selectorTexts, selectorTexts, labelSets, (one, other, labels) => {
        const value = (text: string): boolean => matches(selector(text), labels);
        fc.pre(one.length + other.length < 500);
        expect(value(`!(${one})`)).toBe(!value(one));
        expect(value(`(${one}) && (${other})`)).toBe(value(one) && value(other));
        expect(value(`(${one}) || (${other})`)).toBe(value(one) || value(other));
      }),
    );
  });
});

describe("explainMismatch", () => {
  it.each<[string, Labels, string]>([
    ["gpu == 'true'", {}, "selector gpu == 'true'; no label gpu"],
    ["gpu == 'true'", { gpu: "false" }, "selector gpu == 'true'; label gpu is 'false'"],
    ["!has(gpu)", { gpu: "x" }, "selector !has(gpu); label gpu is 'x'"],
    ["has(a) && has(b)", { a: "" }, "selector has(a) && has(b); no label b"],
    ["has(a) || has(b)", {}, "selector has(a) || has(b); no label a, no label b"],
    ["has(a) && has(b) && has(c)", { b: "" }, "selector has(a) && has(b) && has(c); no label a, no label c"],
    [
      "has(a)||has(b)||has(c)||has(d)",
      {},
      "selector has(a)||has(b)||has(c)||has(d); no label a, no label b, no label c",
    ],
    ["!(has(a) || has(b))", { b: "1" }, "selector !(has(a) || has(b)); label b is '1'"],
    ["!all()", {}, "selector !all(); all() always holds"],
  ])("says of %j on %j", (text, labels, line) => {
    expect(matches(selector(text), labels)).toBe(false);
    expect(explainMismatch(selector(text), labels)).toBe(line);
  });

  it("stays short and names a cause, whatever the selector is", () => {
    fc.assert(
      fc.property(selectorTexts, labelSets, (text, labels) => {
        const parsed = parseSelector(text);
        fc.pre(parsed.ok && !matches(parsed.value, labels));
        if (parsed.ok)
          expect(explainMismatch(parsed.value, labels)).toMatch(/; (no label|label|\w+\(\) always)/);
      }),
    );
  });
});
