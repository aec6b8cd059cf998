/** The summary line never looks better than the run. */
import { expect, it } from "vitest";
import { ranEntirely, readTestReport, summaryLine, sumOf } from "../../src/tools/test-report.ts";

function report(files: Record<string, string[]>, { success = true, broken = "" } = {}): string {
  return JSON.stringify({
    success,
    testResults: Object.entries(files).map(([name, statuses]) => ({
      name,
      status: name === broken || statuses.includes("failed") ? "failed" : "passed",
      assertionResults: statuses.map((status, position) => ({ fullName: `test ${position}`, status })),
    })),
  });
}

it("counts passed and failed tests over all files", () => {
  const text = report({ "a.test.ts": ["passed", "failed"], "b.test.ts": ["passed"] }, { success: false });
  expect(summaryLine(readTestReport(text))).toBe("2 passed, 1 failed");
});

it("names skipped ones, whatever the word for it", () => {
  const read = readTestReport(report({ "a.test.ts": ["passed", "skipped", "pending", "todo"] }));
  expect(summaryLine(read)).toBe("1 passed, 0 failed, 3 skipped");
  expect(read.skipped[0]).toEqual({ file: "a.test.ts", test: "test 1" });
});

it("counts a file that could not be loaded as failed", () => {
  const text = report({ "a.test.ts": ["passed"], "b.test.ts": [] }, { success: false, broken: "b.test.ts" });
  expect(readTestReport(text)).toMatchObject({ passed: 1, failed: 1 });
});

it("counts a run that failed for another reason as failed", () => {
  expect(readTestReport(report({ "a.test.ts": ["passed"] }, { success: false })).failed).toBe(1);
});

it("says whether a required file ran entirely", () => {
  const read = readTestReport(
    report({ "/x/test/cni/a.test.ts": ["passed"], "/x/test/cni/b.test.ts": ["skipped"], "/x/c.test.ts": [] }),
  );
  expect(ranEntirely(read, "test/cni/a.test.ts")).toBe(true);
  expect(ranEntirely(read, "test/cni/b.test.ts")).toBe(false);
  expect(ranEntirely(read, "test/cni")).toBe(false);
  expect(ranEntirely(read, "c.test.ts")).toBe(false);
  expect(ranEntirely(read, "absent.test.ts")).toBe(false);
});

it("adds up reports of several programs", () => {
  const tests = readTestReport(report({ "a.test.ts": ["passed", "failed"] }));
  const histories = readTestReport(report({ simulate: ["passed"] }));
  expect(summaryLine(sumOf([tests, histories]))).toBe("2 passed, 1 failed");
});
