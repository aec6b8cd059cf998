/**
 * What all definitions have in common that an operator writes: names, revisions, faults in bounds.
 * May import: core only.
 */
import type { FieldFault } from "./errors.ts";
import { NAME_PATTERN, NAME_TEXT_MAX } from "./limits.ts";

/** What a stored definition says about its last change. Units: milliseconds since 1970. */
export interface Revised {
  readonly revision: number;
  readonly updatedAt: number;
  /** Who wrote it last, e.g. `token:ops`. */
  readonly updatedBy?: string;
}

/** When something is written, and by whom. Units: milliseconds since 1970. */
export interface Stamp {
  readonly now: number;
  readonly by?: string | undefined;
}

/** The revision that follows `current`; the first is 1. */
export function nextRevision(current: Revised | undefined, stamp: Stamp): Revised {
  const next = { revision: (current?.revision ?? 0) + 1, updatedAt: stamp.now };
  return stamp.by === undefined ? next : { ...next, updatedBy: stamp.by };
}

/** Drops the fields that are present but undefined, as bodies read by a schema may have them. */
export function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** The faults of a pool's or a reservation's name, which stands in the path. */
export function nameFaults(name: string, parameter: string): FieldFault[] {
  if (name.length > NAME_TEXT_MAX) {
    const message = `A name has at most ${NAME_TEXT_MAX} characters.`;
    return [{ parameter, code: "too_long", message, limit: NAME_TEXT_MAX }];
  }
  if (NAME_PATTERN.test(name)) return [];
  const message = "A name is lower-case letters, digits, - and ., with a letter or digit at both ends.";
  return [{ parameter, code: "pattern", message }];
}

/** The fault of a text that is longer than its bound. */
export function lengthFaults(pointer: string, text: string | undefined, limit: number): FieldFault[] {
  if (text === undefined || text.length <= limit) return [];
  return [{ pointer, code: "too_long", message: `This has at most ${limit} characters.`, limit }];
}
