/** What `npm run simulate` may be told. May import: node only. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

export interface SimulateOptions {
  readonly histories: number;
  readonly operations: number;
  /** The first seed. */
  readonly from: number;
  /** Goes on for so long, whatever `histories` says. */
  readonly hours: number | undefined;
  readonly processes: number;
  /** One history alone. */
  readonly seed: number | undefined;
  /** What is left of it: positions in its steps and in its faults. */
  readonly steps: readonly number[] | undefined;
  readonly faults: readonly number[] | undefined;
  /** Waits for Enter before each step, where there is a terminal. */
  readonly isStepped: boolean;
  readonly showsMessages: boolean;
  /** Leaves a report that counts as a test in the summary of a run. */
  readonly isReported: boolean;
  /** Faults of planted.ts that are to be found, instead of all else. */
  readonly planted: readonly string[] | undefined;
  /** Looks for them in random histories, also where a directed one finds them. */
  readonly isRandom: boolean;
}

export const USAGE = `npm run simulate -- [options]
  --histories N     how many histories, each from its own seed (2000)
  --operations N    operations in each (200)
  --from S          the first seed (1)
  --hours H         go on for so long, from fresh seeds
  --processes N     processes at work (as many as the machine has cores)
  --seed S          one history; it is shortened when it finds something
  --steps 3,17      of that history only these steps ...
  --faults 0,2      ... and only these of the faults that its whole life meets
  --step            show it operation by operation; Enter goes on
  --messages        show every message too
  --report          leave a report that counts in the summary of CI
  --planted F5,F9   how soon these deliberate faults are found; "all" takes every one
  --random          look for those in random histories only`;

const NUMBERS = {
  histories: { type: "string" },
  operations: { type: "string" },
  from: { type: "string" },
  hours: { type: "string" },
  processes: { type: "string" },
  seed: { type: "string" },
  steps: { type: "string" },
  faults: { type: "string" },
  step: { type: "boolean" },
  messages: { type: "boolean" },
  report: { type: "boolean" },
  planted: { type: "string" },
  random: { type: "boolean" },
} as const;

/** Reads the command line. Rejects: what it does not know, and what is no number. */
export function optionsOf(args: readonly string[]): SimulateOptions {
  const { values } = parseArgs({ args: [...args], options: NUMBERS });
  const hours = values.hours === undefined ? undefined : numberOf("hours", values.hours);
  // An endless run begins where none began before; the seed is printed.
  const fresh = hours === undefined ? 1 : 1_000_000 + (Math.floor(Date.now() / 1000) % 1_000_000_000);
  return {
    histories: numberOf("histories", values.histories ?? "2000"),
    operations: numberOf("operations", values.operations ?? "200"),
    from: numberOf("from", values.from ?? String(fresh)),
    hours,
    processes: numberOf("processes", values.processes ?? String(availableParallelism())),
    seed: values.seed === undefined ? undefined : numberOf("seed", values.seed),
    steps: listOf("steps", values.steps),
    faults: listOf("faults", values.faults),
    isStepped: values.step === true,
    showsMessages: values.messages === true,
    isReported: values.report === true,
    planted: values.planted?.split(","),
    isRandom: values.random === true,
  };
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text === "" || !Number.isFinite(number) || number < 0)
    throw new Error(`--${name} ${text} is no number`);
  return number;
}

function listOf(name: string, text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  return text === "" ? [] : text.split(",").map((one) => numberOf(name, one));
}
