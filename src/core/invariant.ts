/**
 * Defects. Nobody catches InvariantViolation but the outermost handler.
 * May import: nothing.
 */

/** Thrown when the program contradicts itself; never for bad input. */
export class InvariantViolation extends Error {
  override readonly name = "InvariantViolation";
}

/** Throws InvariantViolation unless the condition holds. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantViolation(message);
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new InvariantViolation(`unexpected value ${JSON.stringify(value)}`);
}
