/**
 * One round of a hunt: the random tests once, with a seed of its own, in a process of their own.
 * May import: node.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

export interface Order {
  readonly root: string;
  readonly files: readonly string[];
  readonly seed: number;
  readonly factor: number;
  /** Ends the round before its end. */
  readonly signal: AbortSignal;
}

export interface Round {
  readonly ended: "passed" | "failed" | "cut off";
  readonly cases: ReadonlyMap<string, number>;
  readonly failed: readonly string[];
  /** What the tests printed. */
  readonly output: string;
}

interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly meta: { cases?: number } }[];
  }[];
}

/** Runs the tests of the files; of a round that is cut off nothing is known. */
export async function playRound({ root, files, seed, factor, signal }: Order): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "edge-ipam-hunt-"));
  const report = join(folder, "report.json");
  const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${report}`];
  const projects = ["--project=unit", "--project=simulation"];
  // A group of its own, so that its workers end with it.
  const child = spawn(join(root, "node_modules/.bin/vitest"), ["run", ...projects, ...reporters, ...files], {
    cwd: root,
    detached: true,
    env: { ...process.env, SEED: String(seed), RUNS_FACTOR: String(factor), NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  const kill = (): void => void (child.pid !== undefined && process.kill(-child.pid, "SIGKILL"));
  signal.addEventListener("abort", kill);
  try {
    const status = await new Promise((settle, fail) => child.once("error", fail).once("close", settle));
    if (signal.aborted) return { ended: "cut off", cases: new Map(), failed: [], output };
    const told = read(root, report);
    return { ...told, ended: status === 0 ? "passed" : "failed", output };
  } finally {
    signal.removeEventListener("abort", kill);
    rmSync(folder, { recursive: true, force: true });
  }
}

function read(root: string, report: string): Pick<Round, "cases" | "failed"> {
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as TestReport;
  const pathOf = (name: string): string => relative(root, name);
  const casesOf = (tests: TestReport["testResults"][number]["assertionResults"]): number =>
    tests.reduce((sum, { meta }) => sum + (meta.cases ?? 0), 0);
  return {
    cases: new Map(testResults.map((file) => [pathOf(file.name), casesOf(file.assertionResults)])),
    failed: testResults.filter(({ status }) => status === "failed").map(({ name }) => pathOf(name)),
  };
}
