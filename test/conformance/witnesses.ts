/**
 * Which cases show an invariant: what upstream does there is what must always hold. Data only.
 */
export const WITNESSES: Readonly<Record<string, readonly string[]>> = {
  I1: ["aa-014", "bo-001", "as-008", "rl-006"],
  I2: ["cd-004", "hr-001", "hr-007", "fq-004"],
  I3: ["sq-001", "sq-002", "rl-010"],
  I6: ["ca-003", "bo-001", "rc-005", "ar-008"],
  I7: ["rv-001", "rv-003", "rv-007", "rv-011", "bo-009"],
  I8: ["bo-006", "as-011", "as-013"],
  I9: ["hc-001", "hc-002", "as-009"],
  I10: ["bl-001", "bl-006", "bl-008", "bl-010"],
  I12: ["cd-011", "cd-012", "cd-014", "fq-001"],
  I14: ["ut-001", "ut-003", "ut-004"],
  I15: ["hc-007", "rv-005", "as-023"],
};

/** The name of the test of a case: the invariants that it shows, then its own. */
export function testName(id: string): string {
  const shown = Object.entries(WITNESSES).filter(([, cases]) => cases.includes(id));
  return shown.length === 0 ? id : `${shown.map(([invariant]) => invariant).join(" ")}: ${id}`;
}
