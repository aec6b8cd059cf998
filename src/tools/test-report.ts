/** Reads vitest's JSON report: numbers of the summary line, tests that were skipped. Text in, value out. */

export interface TestReport {
  passed: number;
  failed: number;
  /** The tests that did not run. */
  skipped: { file: string; test: string }[];
  /** The files of which at least one test passed. */
  files: string[];
}

interface VitestReport {
  success: boolean;
  testResults: {
    name: string;
    status: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

/**
 * Counts a report.
 *
 * Invariant: a file that could not be loaded counts as one failed test, so that the numbers never
 * look better than the run; so does a run that failed without any failed test.
 */
export function readTestReport(text: string): TestReport {
  const report = JSON.parse(text) as VitestReport;
  let passed = 0;
  let failed = 0;
  const skipped: TestReport["skipped"] = [];
  const files: string[] = [];
  for (const file of report.testResults) {
    const failedBefore = failed;
    const passedBefore = passed;
    for (const { fullName, status } of file.assertionResults) {
      if (status === "passed") {
        passed += 1;
      } else if (status === "failed") {
        failed += 1;
      } else {
        skipped.push({ file: file.name, test: fullName });
      }
    }
    if (file.status === "failed" && failed === failedBefore) {
      failed += 1;
    }
    if (passed > passedBefore) {
      files.push(file.name);
    }
  }
  return { passed, failed: report.success ? failed : Math.max(failed, 1), skipped, files };
}

/** Adds up reports of several programs. */
export function sumOf(reports: readonly TestReport[]): TestReport {
  return {
    passed: reports.reduce((sum, { passed }) => sum + passed, 0),
    failed: reports.reduce((sum, { failed }) => sum + failed, 0),
    skipped: reports.flatMap(({ skipped }) => skipped),
    files: reports.flatMap(({ files }) => files),
  };
}

/** The line that CI reads: `N passed, N failed`, and how many were skipped if any were. */
export function summaryLine({ passed, failed, skipped }: TestReport): string {
  const numbers = `${passed} passed, ${failed} failed`;
  return skipped.length === 0 ? numbers : `${numbers}, ${skipped.length} skipped`;
}

/** Whether tests of a file or folder passed and none of them was skipped. */
export function ranEntirely({ files, skipped }: TestReport, path: string): boolean {
  return files.some((file) => file.includes(path)) && !skipped.some(({ file }) => file.includes(path));
}
