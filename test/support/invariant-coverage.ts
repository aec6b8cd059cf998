/**
 * Which invariant is checked in which test project, and in which files, by the names of the tests; `--write`
 * puts both tables into docs. May import: Node, the cases. Rule: an empty cell has a reason that is true.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { WITNESSES } from "../conformance/witnesses.ts";

export const INVARIANTS = Array.from({ length: 15 }, (_, index) => `I${index + 1}`);

/** Projects as vitest.config.ts has them, by where their tests are. */
const FILES: Readonly<Record<string, string>> = {
  unit: "test/{core,architecture,contract,client,platform}/**/*.test.ts",
  simulation: "test/simulation/**/*.test.ts",
  objects: "test/objects/*.test.ts",
  http: "test/http/**/*.test.ts",
  cni: "test/cni/**/*.test.ts",
};

/** The cases have no invariant in their names: witnesses.ts names those that show one. */
export const PROJECTS = [...Object.keys(FILES), "conformance"];

/** How many tests name an invariant, by invariant and project. */
export type Coverage = ReadonlyMap<string, ReadonlyMap<string, number>>;

const root = new URL("../../", import.meta.url).pathname;
const PAGES = { projects: `${root}docs/development.md`, files: `${root}docs/architecture.md` };
const BEGIN = "<!-- invariants: begin -->\n";
const END = "<!-- invariants: end -->";

/** Text that stands where a name does: first in a call, or first in a row of `each`. */
const NAME = /[([]\s*(["'`])((?:\\.|(?!\1).)*)\1/gs;
const INVARIANT = /\bI[0-9]{1,2}\b/g;

/** The names in a file of tests that name an invariant; text that is compared or passed on is none. */
export function namesIn(source: string): string[] {
  const names = [...source.matchAll(NAME)].map(([, , name = ""]) => name);
  return names.filter((name) => name.includes(" ") && name.search(INVARIANT) >= 0);
}

/** Reads the names of all tests. */
export function readCoverage(): Coverage {
  const counts = new Map(INVARIANTS.map((invariant) => [invariant, new Map<string, number>()]));
  const add = (invariant: string, project: string, more: number): void => {
    const row = counts.get(invariant);
    if (row === undefined) throw new Error(`there is no ${invariant}`);
    row.set(project, (row.get(project) ?? 0) + more);
  };
  for (const [project, pattern] of Object.entries(FILES)) {
    for (const file of globSync(pattern, { cwd: root })) {
      for (const name of namesIn(readFileSync(root + file, "utf8"))) {
        for (const invariant of new Set(name.match(INVARIANT))) add(invariant, project, 1);
      }
    }
  }
  for (const [invariant, cases] of Object.entries(WITNESSES)) add(invariant, "conformance", cases.length);
  return counts;
}

/** The files that name each invariant, below `test/` and without `.test.ts`. */
export function readFiles(): ReadonlyMap<string, readonly string[]> {
  const patterns = Object.values(FILES);
  // The test of this table is no test of an invariant.
  const files = globSync(patterns, { cwd: root, exclude: ["test/architecture/**"] }).toSorted();
  const found = files.map((file) => {
    const names = namesIn(readFileSync(root + file, "utf8")).join("\n");
    return { file: file.slice("test/".length, -".test.ts".length), named: new Set(names.match(INVARIANT)) };
  });
  return new Map(
    INVARIANTS.map((one) => [one, found.filter(({ named }) => named.has(one)).map(({ file }) => file)]),
  );
}

/** Cells without a test, as `I4 unit`. */
export function emptyCells(coverage: Coverage): string[] {
  return INVARIANTS.flatMap((invariant) =>
    PROJECTS.filter((project) => (coverage.get(invariant)?.get(project) ?? 0) === 0).map(
      (project) => `${invariant} ${project}`,
    ),
  );
}

const BLOCKS_UNSEEN = "the plugin is told addresses, never blocks";

/** Why no test of a project can show an invariant. */
export const REASONS: Readonly<Record<string, string>> = {
  "I4 unit": "nothing is durable in pure code",
  "I9 cni": "the plugin sets no limit: each container has a handle of its own",
  "I4 conformance": "a case has no restart and no crash after an answer",
  "I5 cni": BLOCKS_UNSEEN,
  "I5 conformance": "upstream has no directory, and a case looks at no index",
  "I2 cni": BLOCKS_UNSEEN,
  "I6 cni": BLOCKS_UNSEEN,
  "I14 cni": "the plugin shows no figures",
  "I13 conformance": "a case has no keys: upstream knows none",
};

/** The only invariant that is not built: it comes with the leak collector. */
export const NOT_BUILT = "I11";

/** Writes the table and the reasons as Markdown. */
export function markdown(coverage: Coverage): string {
  const cell = (invariant: string, project: string): string =>
    (coverage.get(invariant)?.get(project) ?? 0) === 0 ? "–" : "✓";
  const rows = INVARIANTS.map((invariant) => {
    return `| ${invariant} | ${PROJECTS.map((project) => cell(invariant, project)).join(" | ")} |`;
  });
  const reasons = new Map<string, string[]>();
  for (const [where, why] of Object.entries(REASONS)) reasons.set(why, [...(reasons.get(why) ?? []), where]);
  return [
    `| | ${PROJECTS.join(" | ")} |`,
    `|---|${PROJECTS.map(() => "---|").join("")}`,
    ...rows,
    "",
    ...[...reasons].map(([why, where]) => `- ${where.join(", ")}: ${why}.`),
    `- ${NOT_BUILT}: comes with the leak collector.`,
    "",
  ].join("\n");
}

/** Writes the files of each invariant as Markdown. */
export function filesMarkdown(): string {
  const rows = [...readFiles()].map(([invariant, files]) => {
    return `| ${invariant} | ${files.map((file) => `\`${file}\``).join(", ")} |`;
  });
  return ["| | tests |", "|---|---|", ...rows, ""].join("\n");
}

/** The table that a page shows. */
export function shown(page: keyof typeof PAGES): string {
  const text = readFileSync(PAGES[page], "utf8");
  return text.slice(text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END));
}

function write(page: keyof typeof PAGES, table: string): void {
  const [before = "", rest = ""] = readFileSync(PAGES[page], "utf8").split(BEGIN);
  writeFileSync(PAGES[page], `${before}${BEGIN}${table}${rest.slice(rest.indexOf(END))}`);
}

if (process.argv.includes("--write")) {
  write("projects", markdown(readCoverage()));
  write("files", filesMarkdown());
}
