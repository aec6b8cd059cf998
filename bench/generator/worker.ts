/**
 * The process that sends a load: takes jobs from the harness, one at a time, and tells what came of them.
 * May import: the other files here. Rule: bounded in time; it holds nothing but its connections.
 */
import { allocationsIn, balanced } from "./books.ts";
import { type Answer, Connection } from "./connection.ts";
import { compile, type Job, type Outcome, type Step, type Write } from "./plan.ts";

/** One for each client and server; a server that has gone is connected to again. */
const connections = new Map<string, Connection>();
const FAULT_LENGTH = 300;

async function connectionOf(url: URL, client: number): Promise<Connection> {
  const key = `${url.host} ${client}`;
  const known = connections.get(key);
  if (known?.isOpen) return known;
  const made = await Connection.open(url.hostname, Number(url.port));
  connections.set(key, made);
  return made;
}

interface Tally {
  readonly times: number[];
  readonly given: string[];
  readonly freed: string[];
  failed: number;
  fault?: string;
}

/** Runs the clients of a job until the time or the limit is reached. */
async function run(job: Job): Promise<Outcome> {
  const { plan, clients, seconds, stride, limit = Number.POSITIVE_INFINITY } = job;
  const url = new URL(job.url);
  const writes = plan.steps.map((step) => compile(step, plan, url.host));
  const numbers = Array.from({ length: clients }, (_, index) => job.firstClient + index);
  const open = await Promise.all(numbers.map((client) => connectionOf(url, client)));
  const tally: Tally = { times: [], given: [], freed: [], failed: 0 };
  const timed = plan.timed ?? plan.steps.length;
  let begun = 0;
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1000;
  const work = async (connection: Connection, client: number): Promise<void> => {
    while (begun < limit && performance.now() < end) {
      const n = job.from + begun * stride;
      begun += 1;
      const sentAt = performance.now();
      let timedUntil = sentAt;
      const books = { given: [] as string[], freed: [] as string[] };
      for (const [index, step] of plan.steps.entries()) {
        const answer = await connection.send((writes[index] as Write)(n, client));
        if (index < timed) timedUntil = performance.now();
        const isGood = judge(answer, step, tally);
        if (isGood && step.books !== undefined) books[step.books].push(...allocationsIn(answer.text));
      }
      const { given, freed } = balanced(books.given, books.freed);
      tally.given.push(...given);
      tally.freed.push(...freed);
      tally.times.push(timedUntil - sentAt);
    }
  };
  await Promise.all(open.map((connection, index) => work(connection, numbers[index] ?? 0)));
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { times, given, freed, ...rest } = tally;
  const books = { given, freed };
  return { ...rest, books, times: Float64Array.from(times), elapsedMs, cpuMs: (user + system) / 1000 };
}

function judge({ status, text }: Answer, step: Step, tally: Tally): boolean {
  const { mustHold, mustNotHold } = step;
  const isGood =
    status >= 200 &&
    status < 300 &&
    (mustHold === undefined || text.includes(mustHold)) &&
    (mustNotHold === undefined || !text.includes(mustNotHold));
  if (isGood) return true;
  tally.failed += 1;
  tally.fault ??= `${step.method} ${step.path} answered ${status} ${text.slice(0, FAULT_LENGTH)}`;
  return false;
}

process.on("message", (job: Job) => {
  run(job).then(
    (outcome) => process.send?.({ outcome }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
