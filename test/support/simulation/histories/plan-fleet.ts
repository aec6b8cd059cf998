/**
 * What a plan draws of pods, agents, runtimes, sweeps and clocks of hosts.
 * May import: random, types of the fleet. Rule: as in plan.ts.
 */
import type { ReportStyle } from "../collector/agents.ts";
import type { Random } from "../random.ts";

export type FleetOperation =
  /** A pod ends and nobody releases what it has; `everywhere`: those of its handle on all hosts. */
  | { readonly do: "end pod"; readonly pick: number; readonly everywhere: boolean }
  | {
      readonly do: "report";
      readonly hosts: readonly string[];
      readonly style: ReportStyle;
      readonly luck: number;
    }
  | { readonly do: "report again"; readonly host: string; readonly pick: number }
  | { readonly do: "list attachments"; readonly host: string }
  | { readonly do: "sweep"; readonly how: "cron" | "by hand" }
  | { readonly do: "boot"; readonly host: string; readonly losesPods: boolean }
  /** Sets the clock of a host by so much, 0: as it was. */
  | { readonly do: "set clock"; readonly host: string; readonly byMs: number };

interface Drawing {
  readonly random: Random;
  readonly hosts: readonly string[];
  readonly clocksStep: boolean;
}

const CLOCKS_MS = [0, 0, -600_000, -70_000, 70_000, 600_000];
const HANDLES_OF_HOST = 3;

/** A handle that only pods of one host have; every third one is of no network. */
export function handleOfHost(host: string, random: Random): string {
  const number = random.below(HANDLES_OF_HOST);
  return number === 0 ? `own-${host}` : `net.${host}${number}`;
}

/** So long that a few such pauses make a leak. */
export function longPauseMs(random: Random): number {
  return Math.round(random.between(20_000, 110_000));
}

/** All agents report, as they do all the time. */
export function wholeRound(hosts: readonly string[], random: Random): FleetOperation {
  const silent = random.chance(0.2) ? random.pick(hosts) : undefined;
  return {
    do: "report",
    hosts: hosts.filter((host) => host !== silent),
    style: "whole",
    luck: random.next(),
  };
}

export function fleetOperation({ random, hosts, clocksStep }: Drawing): FleetOperation {
  const host = random.pick(hosts);
  const luck = random.next();
  switch (random.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      return { do: "end pod", pick: luck, everywhere: random.chance(0.6) };
    case 6:
    case 7:
      return { do: "report", hosts: [host], style: "cut", luck };
    case 8:
      return { do: "report", hosts: [host], style: "empty", luck };
    case 9:
    case 10:
      return { do: "report", hosts: [host], style: "held", luck };
    case 11:
    case 12:
    case 13:
      return { do: "report again", host, pick: luck };
    case 14:
    case 15:
      return { do: "list attachments", host };
    case 16:
    case 17:
      return { do: "sweep", how: random.chance(0.3) ? "by hand" : "cron" };
    case 18:
      return { do: "boot", host, losesPods: random.chance(0.4) };
    default:
      if (!clocksStep) return { do: "report", hosts: [host], style: "whole", luck };
      return { do: "set clock", host, byMs: random.pick(CLOCKS_MS) };
  }
}
