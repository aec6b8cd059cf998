/**
 * How many cases a random test ran, for the reports of a hunt. May import: vitest.
 */
import { TestRunner } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    cases?: number;
  }
}

/** Adds cases to those of the test that runs now. */
export function noteCases(count: number): void {
  const test = TestRunner.getCurrentTest();
  if (test !== undefined) test.meta.cases = (test.meta.cases ?? 0) + count;
}
