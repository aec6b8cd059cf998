/**
 * Cases whose behaviour is still to be built on some back ends although every operation in them is there.
 * May import: the vocabulary. Rule: an entry for a case that is met fails, so the list only shrinks.
 */
import type { BackendName } from "./vocabulary.ts";

export interface Unbuilt {
  readonly id: string;
  readonly on: readonly BackendName[];
  /** What has to be there first. */
  readonly needs: string;
}

export const UNBUILT: readonly Unbuilt[] = [];
