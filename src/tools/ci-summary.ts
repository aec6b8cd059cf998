/**
 * Prints the summary line of the last test run from its report.
 * `--require <path>` also fails if tests of that file or folder did not run, or were skipped.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { repositoryRoot } from "./bundle.ts";
import { ranEntirely, readTestReport, summaryLine, type TestReport } from "./test-report.ts";

const reportFile = resolve(repositoryRoot, "reports/tests.json");

/** A run that left no report has failed. */
function lastReport(): TestReport {
  return existsSync(reportFile)
    ? readTestReport(readFileSync(reportFile, "utf8"))
    : { passed: 0, failed: 1, skipped: [], files: [] };
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
