/**
 * How far a check has come, and what it has yet to look at again or to mend. Types, and their names.
 * May import: core, rpc. Rule: plain data that is stored; a field is only added.
 */
import type { Finding } from "../src/core/check.ts";
import type { Family } from "../src/core/errors.ts";
import type { KeyPlace } from "../src/rpc/handle-index.ts";

/** The phases in their order. Shape: pools by name, hosts by name, shards by number, hosts by name. */
export type CheckPlace =
  | { readonly phase: "count" | "space" | "blocks"; readonly pool?: string; readonly after?: string }
  | { readonly phase: "hosts"; readonly after?: string; readonly host?: string; readonly block?: string }
  | { readonly phase: "index"; readonly shard: number; readonly after?: KeyPlace }
  | { readonly phase: "leaks"; readonly after?: string; readonly host?: string; readonly address?: string }
  | { readonly phase: "over" };

/** A block to be looked at again: a difference that stays as it is was no step under way. */
export interface BlockTask {
  readonly kind: "block";
  readonly block: string;
  /** Hosts that may have something of it. */
  readonly hosts: readonly string[];
  /** What each problem rested on when it was seen last. */
  readonly marks: Readonly<Record<string, string>>;
  readonly looks: number;
  /** Findings that are stored and to be mended; absent: it is still to be judged. */
  readonly mends?: readonly string[];
}

export type CheckTask =
  | BlockTask
  /** A host that Cluster does not list. */
  | { readonly kind: "enrol"; readonly host: string; readonly finding: string }
  /** A Host that did not answer when its rows were to be read. */
  | { readonly kind: "host"; readonly host: string; readonly looks: number }
  /** A Host that did not answer when its suspected leaks were to be read. */
  | { readonly kind: "leaks"; readonly host: string; readonly looks: number }
  /** A held key whose row is to be put back. */
  | (KeyPlace & {
      readonly kind: "key";
      readonly finding: string;
      readonly shard: number;
      readonly family: Family;
      readonly count: number;
    })
  /** A row that is to be settled by its block's final word; without a finding while its shard may yet do so. */
  | (KeyPlace & {
      readonly kind: "row";
      readonly finding?: string;
      readonly shard: number;
      readonly until: number;
      readonly outcome: "released" | "absent";
    })
  /** A stretch of free space. */
  | {
      readonly kind: "space";
      readonly findings: readonly string[];
      readonly pool: string;
      readonly after?: string;
    };

/** What one step of a check brings; committed whole. */
export interface StepResult {
  readonly place?: CheckPlace;
  readonly checked?: number;
  readonly total?: number;
  readonly findings: readonly { readonly name: string; readonly finding: Finding }[];
  /** `due` in milliseconds from now. */
  readonly tasks: readonly { readonly name: string; readonly dueInMs: number; readonly task: CheckTask }[];
}

/** One name per finding of a check: what is found twice is listed once. */
export function findingName({ problem, block, address, host, handle }: Finding, key = ""): string {
  return [problem, block, address, host, handle, key].map((part) => part ?? "").join(" ");
}

export type Found = StepResult["findings"][number];
export type Task = StepResult["tasks"][number];

/** A finding under its name; the key of a handle tells two of one handle apart. */
export function found(finding: Finding, key?: string): Found {
  return { name: findingName(finding, key), finding };
}

/** A block to be looked at soon, with the Hosts that may have something of it. */
export function lookAt(block: string, hosts: readonly string[]): Task {
  return { name: `block ${block}`, dueInMs: 0, task: { kind: "block", block, hosts, marks: {}, looks: 0 } };
}
