/** Each invariant is checked in each project, or there is a reason why it cannot be; the page says so too. */
import { expect, test } from "vitest";
import { coreCases } from "../conformance/case-files.ts";
import { WITNESSES } from "../conformance/witnesses.ts";
import {
  emptyCells,
  markdown,
  NOT_BUILT,
  namesIn,
  PROJECTS,
  REASONS,
  readCoverage,
  readFiles,
  shown,
} from "../support/invariant-coverage.ts";

const coverage = readCoverage();

test("an empty cell has its reason, and a reason has an empty cell", () => {
  const empty = emptyCells(coverage).filter((cell) => !cell.startsWith(`${NOT_BUILT} `));
  expect(empty.toSorted()).toEqual(Object.keys(REASONS).toSorted());
});

test("docs/development.md shows the table: node test/support/invariant-coverage.ts --write", () => {
  expect(shown("projects")).toBe(markdown(coverage));
});

test("docs/architecture.md lists only tests that are there and name the invariant", () => {
  const rows = [...shown("files").matchAll(/^\| (I\d+) \| (.*) \|$/gm)];
  const files = readFiles();
  expect(rows.map(([, invariant]) => invariant)).toEqual([...files.keys()]);
  for (const [, invariant = "", cell = ""] of rows) {
    const listed = [...cell.matchAll(/`([^`]+)`/g)].map(([, file]) => file);
    expect(listed.length, invariant).toBeGreaterThan(0);
    expect(files.get(invariant), invariant).toEqual(expect.arrayContaining(listed));
  }
});

test("cases that are said to show an invariant are there", () => {
  const known = new Set(coreCases().map(({ id }) => id));
  const named = Object.values(WITNESSES).flat();
  expect(named.filter((id) => !known.has(id))).toEqual([]);
});

test("names are found where tests have them, and text elsewhere is none", () => {
  const source = [
    'test("I3: a stale release changes nothing", () => {',
    'it("R11: a repeated request gets one address (I13)", () => {',
    'test.each([["I8: nobody borrows", true]])("%s", () => {',
    'expect(sum, "I14: counts partition the block").toBe(1);',
    'expect("I", "1").toBe(1);',
  ].join("\n");
  expect(namesIn(source)).toHaveLength(3);
  expect(PROJECTS).toContain("conformance");
});
