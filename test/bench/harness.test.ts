/**
 * The benchmark's harness at its smallest: it measures, its counts are those of the design, what fails is told.
 * Nothing here depends on how fast the machine is.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "edge-ipam-bench-test-"));
const SMALL = { BENCH_ROUNDS: "1", BENCH_SECONDS: "0.2", BENCH_WARM_UP_SECONDS: "0.1" };
const TIMEOUT_MS = 180_000;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function node(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return new Promise((settle, fail) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...SMALL, ...env } });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    child.once("error", fail);
    child.once("close", (code) => settle({ code, out, err }));
  });
}

interface Result {
  readonly machine: { readonly cores: number; readonly workerd: string; readonly fsyncMs: number };
  readonly lines: readonly {
    readonly id: string;
    readonly clients: number;
    readonly alone?: object;
    readonly rounds: readonly { operations: number; failed: number; perSecond: number; cost: object }[];
  }[];
  readonly targets: readonly { readonly text: string; readonly isMet?: boolean }[];
  readonly checked: readonly {
    readonly scene: string;
    readonly acknowledged: number;
    readonly stored: number;
    readonly faults: readonly string[];
  }[];
}

/** Runs subjects that are written here, as text of a program, beside the harness's own. */
async function compare(
  wanted: readonly string[],
  subjects: string,
): Promise<Ended & { readonly result: Result }> {
  const file = join(folder, `${wanted.join("-")}.json`);
  const program = `
    const { compare } = await import("./bench/compare/compare.ts");
    const options = { rounds: 1, seconds: 0.2, warmUpSeconds: 0.1, processes: 2, wanted: ${JSON.stringify(wanted)},
      file: ${JSON.stringify(file)} };
    process.exitCode = (await compare(options, ${subjects})) ? 0 : 1;`;
  const ended = await node(["--input-type=module", "--eval", program], {});
  return { ...ended, result: JSON.parse(readFileSync(file, "utf8")) as Result };
}

it(
  "measures what is wanted, and counts calls, commits and rows of one operation as the design has them",
  async () => {
    const file = join(folder, "good.json");
    const wanted = [
      ...["noop", "write", "skeleton-1", "skeleton-50", "checked-skeleton-1"],
      ...["allocate-1", "roomy-1", "pairs", "release", "assign", "dual", "batch", "list"],
    ];
    const { code, out } = await node(["bench/run.ts"], {
      BENCH_FILE: file,
      BENCH_SUBJECTS: wanted.join(","),
    });
    expect(out).not.toContain("FAILED");
    expect(code).toBe(0);
    const { lines, machine, targets, checked } = JSON.parse(readFileSync(file, "utf8")) as Result;
    expect(lines.map(({ id, clients }) => `${id} ${clients}`).sort()).toEqual(
      wanted.flatMap((id) => [1, 16, 64].map((clients) => `${id} ${clients}`)).sort(),
    );
    for (const { rounds } of lines) {
      expect(rounds).toHaveLength(1);
      expect(rounds[0]).toMatchObject({ failed: 0 });
      expect(rounds[0]?.operations).toBeGreaterThan(0);
    }
    const alone = Object.fromEntries(
      lines.filter(({ clients }) => clients === 1).map((line) => [line.id, line.alone]),
    );
    expect(alone).toEqual({
      noop: { calls: 0, commits: 0, rows: 0 },
      write: { calls: 1, commits: 1, rows: 1 },
      "skeleton-1": { calls: 3, commits: 2, rows: 2 },
      "skeleton-50": { calls: 3, commits: 2, rows: 2 },
      "checked-skeleton-1": { calls: 3, commits: 2, rows: 2 },
      "allocate-1": { calls: 3, commits: 2, rows: 2 },
      "roomy-1": { calls: 3, commits: 2, rows: 2 },
      pairs: { calls: 6, commits: 4, rows: 4 },
      release: { calls: 3, commits: 2, rows: 2 },
      assign: { calls: 3, commits: 2, rows: 2 },
      dual: { calls: 4, commits: 3, rows: 4 },
      batch: { calls: 3, commits: 2, rows: 32 },
      list: expect.objectContaining({ commits: 0, rows: 0 }),
    });
    expect(machine.cores).toBeGreaterThan(0);
    expect(machine.fsyncMs).toBeGreaterThan(0);
    expect(machine.workerd).toMatch(/^1\.\d{8}\./);
    // The releases' supply is stored, what the pairs had is not.
    expect(checked).toEqual([
      { scene: "main", acknowledged: checked[0]?.stored, stored: expect.any(Number), faults: [] },
    ]);
    expect(checked[0]?.stored).toBeGreaterThan(1_000);
    // What was not measured is neither met nor missed.
    expect(targets.find(({ text }) => text.includes("etcd"))).not.toHaveProperty("isMet");
    expect(targets.find(({ text }) => text.startsWith("1 client, 1 host"))).toHaveProperty("isMet");
    for (const text of out.split("\n")) expect([...text].length).toBeLessThanOrEqual(80);
  },
  TIMEOUT_MS,
);

it(
  "ends with an error when a subject fails, or an address is given twice, and measures the others",
  async () => {
    const subjects = `[
    { id: "wrong", name: "wrong", scene: "main", clients: [1],
      plan: () => ({ steps: [{ method: "GET", path: "/v1/nowhere" }] }) },
    { id: "twice", name: "twice", scene: "main", clients: [1],
      prepare: ({ service }) => service.target.mustSend("PUT", "/v1/hosts/h", { labels: {} }),
      plan: () => ({ steps: [{ method: "POST", path: "/v1/allocations", variant: "one-call", books: "given",
        body: JSON.stringify({ host: "h", handle: "h.{n}", ipv4: { count: 1 } }) }] }) },
    { id: "noop", name: "no-op", scene: "main", clients: [1],
      plan: () => ({ steps: [{ method: "POST", path: "/bench/noop", variant: "own", body: "{}" }] }) },
  ]`;
    const { code, out, result } = await compare(["wrong", "twice", "noop"], subjects);
    expect(out).toMatch(/FAILED: wrong, 1 client: \d+ failed: GET \/v1\/nowhere answered 404/);
    expect(out).toMatch(/FAILED: twice, 1 client: 10\.64\.0\.1 was given twice/);
    expect(code).toBe(1);
    expect(result.lines.find(({ id }) => id === "noop")?.rounds).toHaveLength(1);
  },
  TIMEOUT_MS,
);

it(
  "ends with an error when what is stored is not what was acknowledged, and names what differs",
  async () => {
    const subject = (id: string, steps: string) => `
    { id: "${id}", name: "${id}", scene: "main", clients: [1],
      prepare: ({ service }) => service.target.mustSend("PUT", "/v1/hosts/${id}", { labels: {} }),
      plan: () => ({ steps: [${steps}] }) },`;
    const allocate = (id: string, books: string) => `
      { method: "POST", path: "/v1/allocations", ${books}
        body: JSON.stringify({ host: "${id}", handle: "${id}.{n}", ipv4: { count: 1 } }) },`;
    const released = `{ method: "DELETE", path: "/v1/handles/lost.{n}" },`;
    const given = `books: "given",`;
    const { code, out, result } = await compare(
      ["silent", "lost", "good"],
      `[${subject("silent", allocate("silent", ""))}
        ${subject("lost", allocate("lost", given) + released)}
        ${subject("good", allocate("good", given))}]`,
    );
    expect(out).toMatch(/FAILED: main: \d+ stored, but not acknowledged or released \(\S+ silent\.0, /);
    expect(out).toMatch(/FAILED: main: \d+ acknowledged and not released, but not stored \(\S+ lost\.0, /);
    expect(code).toBe(1);
    expect(result.checked).toHaveLength(1);
    expect(result.checked[0]?.faults).toHaveLength(2);
    // No line of the run itself has failed.
    expect(result.lines.map(({ rounds }) => rounds[0]?.failed)).toEqual([0, 0, 0]);
  },
  TIMEOUT_MS,
);

it("refuses a subject that there is not", async () => {
  const { code, err } = await node(["bench/run.ts"], { BENCH_SUBJECTS: "noop,nothing" });
  expect(err).toContain("there is no nothing");
  expect(code).toBe(1);
});

it("refuses lines where it measures lines of its own", async () => {
  const { code, err } = await node(["bench/run.ts", "allocate"], { BENCH_SUBJECTS: "noop" });
  expect(err).toContain("leave BENCH_SUBJECTS out");
  expect(code).toBe(1);
});
