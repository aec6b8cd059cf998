/**
 * What must hold after the last restart: one check with repair, then everything that was seen is judged.
 * May import: the test client, the history. Rule: it releases nothing and allocates nothing.
 */
import { checkAgreement, type Picture, takePicture } from "../http/load/agreement.ts";
import { pause, type Recorder, tenureOf } from "../http/load/recorder.ts";
import { checkHistory } from "../support/history.ts";
import { checkLimits, checkPolicy, perhapsInForce } from "../support/history-policy.ts";
import type { HttpClient } from "../support/http-client.ts";
import type { Agents } from "./agents.ts";
import type { SkippingClock } from "./clock.ts";
import type { Ground } from "./ground.ts";
import type { Operators } from "./operator.ts";

/** One check of consistency as it ended. */
export interface CheckEnd {
  readonly state: string;
  readonly problems: number;
  readonly repaired: number;
  /** How often each problem was found. */
  readonly found: Readonly<Record<string, number>>;
  readonly text: readonly string[];
}

export interface Verdict {
  readonly violations: readonly string[];
  readonly repair: CheckEnd;
  readonly allocated: number;
}

/** A crash leaves rows that say too much; these would say too little, or name two owners (I5, I6). */
const NEVER = [
  "key_not_listed",
  "key_listed_as_spent",
  "key_counted_short",
  "block_not_listed",
  "used_block_offered",
  "space_lost",
  "route_missing",
  "not_the_owner",
  "row_missing",
  "borrowing_unknown",
  "host_not_listed",
  "host_no_answer",
  "wrong_pool",
  "rows_contradict",
  "time_ahead",
  "block_no_answer",
];

const CHECK_WITHIN_MS = 180_000;
const LOOK_EVERY_MS = 250;

interface WireCheck {
  readonly state: string;
  readonly problems: number;
  readonly repaired: number;
  readonly findings: readonly { readonly problem: string; readonly repaired?: boolean }[];
}

/** Who was at work beside the clients. */
export interface Parties {
  readonly ground: Ground;
  readonly operators: Operators;
  readonly agents: Agents;
  readonly clock: SkippingClock;
}

/** Judges a service that is at rest. */
export async function judge(
  client: HttpClient,
  recorder: Recorder,
  { ground, operators, agents, clock }: Parties,
): Promise<Verdict> {
  const repair = await runCheck(client, true);
  const after = await runCheck(client, false);
  const picture = await takePicture(client, ground.hosts);
  const final = picture.allocations.map(tenureOf);
  const { history } = recorder;
  const { cooldowns, initialCooldownMs, shortenedMs, rules } = operators;
  const cooldownMs = (from: number, to: number): number =>
    Math.min(...perhapsInForce(initialCooldownMs, cooldowns, from, to));
  const violations = [
    ...checkHistory(history, {
      ...{ final, cooldownMs, shortenedMs },
      skippedMs: (from, to) => clock.skippedMs(from, to),
    }),
    ...checkPolicy(history, rules),
    ...checkLimits(history, final),
  ].map(({ invariant, text }) => `${invariant}: ${text}`);
  return {
    violations: [
      ...operators.faults,
      ...agents.violations(final),
      ...violations,
      ...[...recorder.seen.keys()].filter((what) => what.endsWith(" internal_error")),
      ...NEVER.flatMap((word) => (word in repair.found ? [`the check found ${word}`] : [])),
      ...repair.text.filter((text) => NEVER.some((word) => text.startsWith(word))),
      ...(repair.state === "done" && repair.repaired === repair.problems
        ? []
        : [`one repair mended ${repair.repaired} of ${repair.problems}, ${repair.state}`]),
      ...after.text.map((text) => `after the repair: ${text}`),
      ...(after.state === "done" && after.problems === 0 ? [] : [`the check after it: ${after.state}`]),
      ...(await checkAgreement(client, picture)),
      ...overCap(picture, ground),
    ],
    repair,
    allocated: final.length,
  };
}

/** I10: automatic claims stop at the cap, whatever the state of the rows. */
function overCap({ hosts }: Picture, { capped, cap }: Ground): string[] {
  return hosts
    .filter(({ name }) => capped.has(name))
    .flatMap(({ name, ipv4, ipv6 }) =>
      [ipv4, ipv6]
        .filter(({ owned, pending }) => owned + pending > cap)
        .map(({ owned, pending }) => `I10: ${name} owns ${owned} and claims ${pending} blocks, cap ${cap}`),
    );
}

/** Runs one check of everything to its end. */
export async function runCheck(client: HttpClient, repair: boolean): Promise<CheckEnd> {
  const { id } = (await client.must("POST", "/v1/checks", { repair })) as { id?: string };
  const path = `/v1/checks/${id}?limit=1000`;
  const read = async (): Promise<WireCheck> => (await client.must("GET", path)) as unknown as WireCheck;
  let check = await read();
  for (let waited = 0; check.state === "running" && waited < CHECK_WITHIN_MS; waited += LOOK_EVERY_MS) {
    await pause(LOOK_EVERY_MS);
    check = await read();
  }
  const { state, problems, repaired, findings } = check;
  const found: Record<string, number> = {};
  for (const { problem } of findings) {
    const word = problem.split(":")[0] ?? "";
    found[word] = (found[word] ?? 0) + 1;
  }
  return { state, problems, repaired, found, text: findings.map(({ problem }) => problem) };
}
