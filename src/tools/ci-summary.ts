/**
 * Prints the summary line of the last test run from the reports that its programs left.
 * `--require <path>` also fails if tests of that file or folder did not run, or were skipped.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { repositoryRoot } from "./bundle.ts";
import { ranEntirely, readTestReport, summaryLine, sumOf, type TestReport } from "./test-report.ts";

const folder = resolve(repositoryRoot, "reports");
/** Of Vitest; each other program leaves one of its own beside it, in the same form. */
const MAIN_REPORT = "tests.json";
/** Measurements, no tests. */
const BENCHMARK = "bench.json";

/** A run that left no report has failed. */
function lastReport(): TestReport {
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith(".json") && name !== BENCHMARK)
    : [];
  const read = names.map((name) => readTestReport(readFileSync(resolve(folder, name), "utf8")));
  return names.includes(MAIN_REPORT) ? sumOf(read) : { passed: 0, failed: 1, skipped: [], files: [] };
}

/** Prints the line, last; 0 if tests passed, none failed, and the required ones ran. */
export function printSummary(required: string[] = []): number {
  const report = lastReport();
  for (const { file, test } of report.skipped) {
    console.log(`skipped: ${file.replace(`${repositoryRoot}/`, "")}: ${test}`);
  }
  const missing = required.filter((path) => !ranEntirely(report, path));
  for (const path of missing) {
    console.log(`did not run as required here: ${path}`);
  }
  console.log(summaryLine(report));
  return report.failed === 0 && report.passed > 0 && missing.length === 0 ? 0 : 1;
}

if (import.meta.main) {
  process.exitCode = printSummary(process.argv.slice(2).filter((word) => word !== "--require"));
}
