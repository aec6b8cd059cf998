/**
 * The processes of `npm run simulate`: each lives one history after another until none is left.
 * May import: node, types of the worker. Rule: a process that dies is a failure, never a history less.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Order, Report } from "./worker.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url).href);
const STAND_INS = new URL("./stand-ins.ts", import.meta.url).href;
const PLANT = new URL("./plant.ts", import.meta.url).href;
const EXEC_ARGV = [
  "--disable-warning=ExperimentalWarning",
  "--max-old-space-size=1024",
  "--import",
  STAND_INS,
];

/** Lives the histories that `next` orders, until it orders none; with a fault of planted.ts, if one is named. */
export async function employ(
  processes: number,
  next: () => Order | undefined,
  heard: (report: Report) => void,
  fault?: string,
): Promise<void> {
  const planted = fault === undefined ? [] : ["--import", PLANT];
  const env = fault === undefined ? process.env : { ...process.env, SIMULATE_FAULT: fault };
  const options = { execArgv: [...EXEC_ARGV, ...planted], env };
  const hands = Array.from({ length: processes }, () => fork(WORKER, options));
  try {
    await Promise.all(hands.map((hand) => work(hand, next, heard)));
  } finally {
    for (const hand of hands) hand.kill();
  }
}

function work(
  hand: ChildProcess,
  next: () => Order | undefined,
  heard: (report: Report) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let order: Order | undefined;
    const goOn = (): void => {
      order = next();
      if (order === undefined) resolve();
      else hand.send(order);
    };
    hand.on("message", (report: Report) => {
      heard(report);
      goOn();
    });
    hand.on("error", reject);
    hand.on("exit", (code) => reject(new Error(`a process ended with ${code} in history ${order?.seed}`)));
    goOn();
  });
}
