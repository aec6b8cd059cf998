/**
 * Problem rows for policy writes, hosts and registrations, and preconditions.
 * May import: core types and row.ts.
 */
import type { ProblemRows } from "./row.ts";
import { timeText } from "./row.ts";

type PolicyCode =
  | "pool_overlap"
  | "pool_field_immutable"
  | "pool_draining"
  | "config_conflict"
  | "incarnation_conflict"
  | "report_out_of_order"
  | "check_running"
  | "breaker_not_open"
  | "revision_mismatch"
  | "already_exists";

export const policyProblems: ProblemRows<PolicyCode> = {
  pool_overlap: {
    status: 409,
    title: "The pool overlaps another pool",
    retry: "after_change",
    cni: 120,
    meaning: "The CIDR overlaps that of another pool, enabled or not. Two pools never share an address.",
    next: "Choose another CIDR, or drain the other pool first.",
    evidence: ["pool", "otherPool"],
    detail: (e) => `Pool ${e.pool} (${e.cidr}) overlaps pool ${e.otherPool} (${e.otherCidr}).`,
  },
  pool_field_immutable: {
    status: 409,
    title: "This field of a pool cannot change",
    retry: "no",
    cni: 120,
    meaning: "A pool's cidr, blockSize and, in part, its uses are fixed for its life.",
    next: "Make a new pool and drain the old one.",
    evidence: ["pool", "field"],
    detail: (e) => `The field ${e.field} of pool ${e.pool} cannot change.`,
  },
  pool_draining: {
    status: 409,
    title: "The pool is draining",
    retry: "after_change",
    cni: 120,
    meaning: "A pool that drains takes no change but the end of the drain.",
    next: "Cancel the drain with PATCH /v1/pools/{pool} and draining: false, or wait until the pool is gone.",
    evidence: ["pool"],
    detail: ({ pool }) => `Pool ${pool} is draining.`,
    hint: ({ pool }) =>
      `Cancel the drain: PATCH /v1/pools/${pool} with {"draining":false}, or wait until it is gone.`,
  },
  config_conflict: {
    status: 409,
    title: "The settings contradict each other",
    retry: "no",
    cni: 120,
    meaning:
      "strictAffinity and autoAllocateBlocks must not both be off, and maxBlocksPerHost above 0 needs strictAffinity.",
    next: "Change the fields together in one PATCH so that they agree.",
    evidence: ["field"],
    detail: ({ field }) =>
      field === "maxBlocksPerHost"
        ? "maxBlocksPerHost above 0 needs strictAffinity."
        : `${field}: strictAffinity and autoAllocateBlocks must not both be off, and a cap needs strictAffinity.`,
  },
  incarnation_conflict: {
    status: 409,
    title: "The host has a newer incarnation",
    retry: "no",
    cni: 120,
    meaning: "A report or a registration comes from an incarnation of the host that was replaced.",
    next: "See who reports as this host and stop the older agent, or register the host again with a new incarnation.",
    evidence: ["host"],
    detail: ({ host }) => `${host} was registered by a newer incarnation.`,
  },
  report_out_of_order: {
    status: 409,
    title: "The report is older than the last one",
    retry: "no",
    cni: 120,
    meaning: "Reports of a host carry a rising number, and this one is not newer than the last.",
    next: "Drop this report; send the next one with a higher number.",
    evidence: ["host", "sequenceNumber"],
    detail: (e) => `The last report of ${e.host} has number ${e.sequenceNumber}.`,
  },
  check_running: {
    status: 409,
    title: "A check is running",
    retry: "later",
    cni: 120,
    meaning: "Only one check runs at a time.",
    next: "Wait until the running check has ended.",
    evidence: ["field"],
    detail: ({ field }) => `Check ${field} is running.`,
  },
  breaker_not_open: {
    status: 409,
    title: "There is nothing to acknowledge",
    retry: "later",
    cni: 120,
    meaning:
      "The leak collector's breaker was to be acknowledged, but it is not open, or opened at another time than the one named.",
    next: "Read GET /v1/gc: breaker.open, and breaker.openedAt, which is the time to send.",
    evidence: ["field"],
    detail: ({ openedAt, given }) => {
      if (openedAt === undefined) return "The breaker is not open.";
      const named = given === undefined ? "the time named" : timeText(given);
      return `The breaker is open, and opened at ${timeText(openedAt)}, not at ${named}.`;
    },
    hint: ({ openedAt }) =>
      openedAt === undefined
        ? "Nothing waits for an acknowledgement: GET /v1/gc tells the collector's state."
        : `Look at what was due (GET /v1/leaks), then send {"breakerOpenedAt":"${timeText(openedAt)}"} (breaker.openedAt of GET /v1/gc).`,
  },
  revision_mismatch: {
    status: 412,
    title: "The revision does not match",
    retry: "no",
    cni: 120,
    meaning: "If-Match names another revision than the present one: somebody else wrote in between.",
    next: "Read it again, look at what changed, and send the new revision in If-Match.",
    evidence: ["revision"],
    detail: ({ revision }) => `The present revision is ${revision}.`,
  },
  already_exists: {
    status: 412,
    title: "It exists already",
    retry: "no",
    cni: 120,
    meaning: "If-None-Match: * asks for a creation, but the thing exists.",
    next: "Read it; to change it, send its revision in If-Match.",
    evidence: ["revision"],
    detail: ({ revision }) => `It exists already, with revision ${revision}.`,
  },
};
