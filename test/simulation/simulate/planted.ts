/**
 * Deliberate faults, each one changed line of the product, put in as the file is loaded: what the
 * histories are worth is what they find of these. May import: the tables of faults.
 * Rule: a line that is not there exactly once is an error, so that no fault vanishes with a change.
 */
import { COLLECTOR_FAULTS } from "./planted-collector.ts";
import { OWNERSHIP_FAULTS } from "./planted-ownership.ts";
import { REQUEST_FAULTS } from "./planted-requests.ts";

export interface Planted {
  readonly what: string;
  /** Below the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Start of the findings that count. */
  readonly by: RegExp;
  /** The directed history that finds it at its first playing. */
  readonly directed?: string;
  /** Random histories within which it must be found; absent: only the directed one is asked for. */
  readonly within?: number;
  /** After how many of them it was found when last measured. */
  readonly measured?: number;
}

/** A fault that no history can show here, and what does. */
export interface Elsewhere {
  readonly what: string;
  readonly why: string;
}

/** By number of the fault; a letter names one more place of it, `L` what is only of the leak collector. */
export const PLANTED: Readonly<Record<string, Planted>> = {
  ...REQUEST_FAULTS,
  ...OWNERSHIP_FAULTS,
  ...COLLECTOR_FAULTS,
};

/** Faults that a history cannot show, each with what shows it. */
export const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {};
