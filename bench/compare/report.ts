/**
 * The result of a run in words and tables, for a terminal of 80 columns or for a document.
 * May import: the tables. Rule: what failed stands at the end, where it is seen.
 */
import { type Line, middle } from "./line.ts";
import type { Checked } from "./stored.ts";
import type { SceneName } from "./subject.ts";
import {
  aloneTable,
  distancesTable,
  layersTable,
  plural,
  ratiosTable,
  reachesTable,
  targetsTable,
  timesTable,
} from "./tables.ts";
import { targetsOf } from "./targets.ts";

/** From this share of a core on, the load may be what is measured. */
const LOAD_MAX = 0.7;

/** MiB of workerd when it had started, when all was prepared, and at the end. */
export interface SceneMemory {
  readonly scene: SceneName;
  readonly started: number;
  prepared: number;
  ended: number;
}

/** MiB of a database's processes when it had started, and at most while clients were connected. */
export interface PeerMemory {
  readonly name: string;
  readonly started: number;
  readonly most: number;
}

export interface Report {
  readonly lines: readonly Line[];
  readonly memory: readonly SceneMemory[];
  readonly peerMemory: readonly PeerMemory[];
  /** What each service stores, against what it acknowledged. */
  readonly checked: readonly (Checked & { readonly scene: SceneName })[];
  readonly notes: readonly string[];
}

/** Whether each line is a result, and each service stores what it acknowledged. */
export function isSound({ lines, checked }: Pick<Report, "lines" | "checked">): boolean {
  return (
    lines.every(({ fault }) => fault === undefined) && checked.every(({ faults }) => faults.length === 0)
  );
}

/** Prints all that was found. */
export function print(report: Report): void {
  printTables(report.lines);
  for (const note of report.notes) console.log(note);
  for (const line of report.lines.filter((each) => middle(each, "share") > LOAD_MAX)) {
    console.log(
      `The load may be the limit of: ${line.name}, ${plural(line.clients, "client")} (BENCH_PROCESSES=2).`,
    );
  }
  printMemory(report);
  for (const { scene, acknowledged, stored } of report.checked) {
    const [told, found] = [acknowledged, stored].map((count) => count.toLocaleString("en"));
    console.log(`Stored, ${scene}: ${found} allocations; acknowledged and not released: ${told}.`);
  }
  for (const { name, clients, fault } of report.lines) {
    if (fault !== undefined) console.log(`FAILED: ${name}, ${plural(clients, "client")}: ${fault}`);
  }
  for (const { scene, faults } of report.checked) {
    for (const fault of faults) console.log(`FAILED: ${scene}: ${fault}`);
  }
}

function printTables(lines: readonly Line[]): void {
  console.log("Rates and times: medians of the rounds. CPU: of the server for one operation.");
  console.log("Load: the share of a core that the busiest process of the load took.\n");
  console.log(timesTable(lines));
  console.log("\nRatios: medians of those of each round, rates to the no-op's and the durable");
  console.log("write's, p50 to the durable write's. Calls of objects, commits and rows");
  console.log("written: all that objects did in the rounds, for one operation.\n");
  console.log(ratiosTable(lines));
  console.log("\nOne operation by itself, lease in hand, no claim of a block (least of nine):\n");
  console.log(aloneTable(lines));
  console.log("\nHow far from the limit: an allocation, in ratios to skeletons, which make the");
  console.log("same calls and commits and decide nothing:\n");
  console.log(distancesTable(lines));
  console.log("\nWhat an allocation is made of: each line has all that the one above it has.\n");
  console.log(layersTable(lines));
  console.log("\nTargets beside what the skeletons themselves reach:\n");
  console.log(reachesTable(lines));
  console.log("\nTargets:\n");
  console.log(targetsTable(targetsOf(lines)));
  console.log();
}

function printMemory({ memory, peerMemory }: Report): void {
  for (const { scene, started, prepared, ended } of memory) {
    const [first, second, third] = [started, prepared, ended].map((value) => value.toFixed(0));
    console.log(
      `Memory of workerd, ${scene}: ${first} MiB at first, ${second} prepared, ${third} at the end.`,
    );
  }
  for (const { name, started, most } of peerMemory) {
    console.log(`Memory of ${name}: ${started.toFixed(0)} MiB at first, ${most.toFixed(0)} at most.`);
  }
}
