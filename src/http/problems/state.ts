/**
 * Problem rows for things that are not there and for states that forbid a change.
 * May import: core types and row.ts.
 */
import type { ProblemRows } from "./row.ts";
import { timeText } from "./row.ts";

type StateCode =
  | "pool_not_found"
  | "reservation_not_found"
  | "host_not_found"
  | "block_not_found"
  | "check_not_found"
  | "load_balancer_not_found"
  | "address_not_allocated"
  | "address_taken"
  | "address_cooling"
  | "address_not_in_pool"
  | "use_not_allowed"
  | "address_outside_affinity"
  | "sequence_mismatch"
  | "handle_mismatch"
  | "owner_mismatch"
  | "handle_not_allocated"
  | "alternate_owner_empty"
  | "alternate_owner_mismatch"
  | "block_not_empty"
  | "block_owned_by_other"
  | "cidr_not_in_pool";

/** Words that the six codes for a missing thing share. */
function missing(thing: string, list: string) {
  return {
    status: 404,
    title: `There is no such ${thing}`,
    retry: "after_change",
    cni: 120,
    meaning: `The path names a ${thing} that does not exist.`,
    next: `List what there is: GET ${list}.`,
  } as const;
}

const reread = "Read the allocation again and decide again; never force a release on old knowledge.";

export const stateProblems: ProblemRows<StateCode> = {
  pool_not_found: {
    ...missing("pool", "/v1/pools"),
    evidence: ["pool"],
    detail: ({ pool }) => `There is no pool ${pool}.`,
  },
  reservation_not_found: {
    ...missing("reservation", "/v1/reservations"),
    evidence: ["field"],
    detail: ({ field }) => `There is no reservation ${field}.`,
  },
  host_not_found: {
    ...missing("host", "/v1/hosts"),
    next: "Register it, if it should be there: PUT /v1/hosts/{host} with its labels. GET /v1/hosts lists what there is.",
    evidence: ["host"],
    detail: ({ host }) => `There is no host ${host}.`,
    hint: ({ host }) =>
      `Register it, if it should be there: PUT /v1/hosts/${host} with its labels. GET /v1/hosts lists what there is.`,
  },
  block_not_found: {
    ...missing("block", "/v1/blocks"),
    evidence: ["block"],
    detail: ({ block }) => `There is no block ${block}.`,
  },
  check_not_found: {
    ...missing("check", "/v1/checks/{check}"),
    next: "Start a check: POST /v1/checks answers its id. The last eight are kept, and the last eight of upkeep (u1, u2, …).",
    evidence: ["field"],
    detail: ({ field }) => `There is no check ${field}.`,
    hint: ({ field }) =>
      /^u\d+$/.test(field)
        ? `Upkeep ${field} has not run yet, or is older than the last eight. It runs once a day, for the first time a day after the start; POST /v1/checks starts a check now.`
        : "Start a check: POST /v1/checks answers its id. The last eight are kept.",
  },
  load_balancer_not_found: {
    ...missing("load balancer", "/v1/allocations?host=virtual:load-balancer"),
    evidence: ["field"],
    detail: ({ field }) => `There is no load balancer ${field}.`,
  },
  address_not_allocated: {
    status: 404,
    title: "The address is not allocated",
    retry: "no",
    cni: 119,
    meaning: "The address is free, cooling, reserved only, or in no pool: nobody holds it.",
    next: "GET /v1/allocations lists what is held; the state in the evidence says why this address is not.",
    evidence: ["address", "state", "freeAt"],
    detail: (e) => `${e.address} is not allocated; it is ${e.state}.`,
  },
  address_taken: {
    status: 409,
    title: "The address is taken",
    retry: "after_change",
    cni: 102,
    meaning: "The address to assign is allocated to another handle, or kept back for the host.",
    next: "Choose another address, or release this one first.",
    evidence: ["address", "state", "handle", "host"],
    detail: (e) => `${e.address} is taken (${e.state}).`,
  },
  address_cooling: {
    status: 409,
    title: "The address is cooling",
    retry: "later",
    cni: 116,
    meaning:
      "The address was released, or lies in a block of nobody that was just emptied; the cooldown has not passed.",
    next: "Wait until freeAt.",
    evidence: ["address", "freeAt"],
    detail: (e) => `${e.address} is cooling until ${timeText(e.freeAt)}.`,
    hint: (e) => `Wait until ${timeText(e.freeAt)}, or choose another address.`,
  },
  address_not_in_pool: {
    status: 409,
    title: "The address is in no enabled pool",
    retry: "after_change",
    cni: 103,
    meaning: "No enabled pool contains the address.",
    next: "Choose an address inside an enabled pool (GET /v1/pools).",
    evidence: ["address", "pool"],
    detail: (e) =>
      e.pool === undefined
        ? `${e.address} is in no pool.`
        : `${e.address} is in pool ${e.pool}, which is not enabled.`,
  },
  use_not_allowed: {
    status: 409,
    title: "The pool does not allow this use",
    retry: "after_change",
    cni: 104,
    meaning: "The pool's allowedUses do not contain the use that the request names.",
    next: "Choose another pool, or add the use to the pool's allowedUses.",
    evidence: ["pool", "address"],
    detail: ({ pool }) => `Pool ${pool} does not allow this use.`,
  },
  address_outside_affinity: {
    status: 409,
    title: "The address lies outside the host's blocks",
    retry: "after_change",
    cni: 115,
    meaning: "Strict affinity is on, and the address's block belongs to another host or to nobody.",
    next: "Choose an address in a block of this host (GET /v1/blocks?host=).",
    evidence: ["address", "block", "host"],
    detail: (e) =>
      `${e.address} lies in block ${e.block} of ${e.host ?? "nobody"}, and strict affinity is on.`,
  },
  sequence_mismatch: {
    status: 409,
    title: "The address was given out again since",
    retry: "no",
    cni: 118,
    meaning:
      "The sequence number is not that of the present allocation: the address was released and given out again.",
    next: reread,
    evidence: ["address", "sequenceNumber"],
    detail: (e) => `${e.address} now has sequence number ${e.sequenceNumber}.`,
  },
  handle_mismatch: {
    status: 409,
    title: "The address belongs to another handle",
    retry: "no",
    cni: 118,
    meaning: "The address is held under another handle than the request names.",
    next: reread,
    evidence: ["address", "sequenceNumber"],
    detail: (e) => `${e.address} is held under another handle, with sequence number ${e.sequenceNumber}.`,
  },
  owner_mismatch: {
    status: 409,
    title: "The address has another owner",
    retry: "no",
    cni: 109,
    meaning: "The owner that the request expects is not the present one.",
    next: "Read the allocation again and decide again.",
    evidence: ["address"],
    detail: ({ address }) => `${address} has another owner than the request expects.`,
  },
  handle_not_allocated: {
    status: 409,
    title: "The handle holds no address",
    retry: "same_request",
    cni: 109,
    meaning: "The owner of a handle's addresses was to be changed, but the handle holds none.",
    next: "Has the target got its address yet? Repeat the request when it has.",
    evidence: ["handle"],
    detail: ({ handle }) => `${handle} holds no address.`,
  },
  alternate_owner_empty: {
    status: 409,
    title: "There is no alternate owner",
    retry: "no",
    cni: 109,
    meaning: "The alternate owner was to be promoted, but there is none.",
    next: "Has the migration ended already? Read the handle.",
    evidence: ["handle"],
    detail: ({ handle }) => `${handle} has no alternate owner.`,
  },
  alternate_owner_mismatch: {
    status: 409,
    title: "The alternate owner is another one",
    retry: "no",
    cni: 109,
    meaning: "The alternate owner was to be promoted, but it is not the one that the request names.",
    next: "Has the migration ended already? Read the handle.",
    evidence: ["handle"],
    detail: ({ handle }) => `The alternate owner of ${handle} is another one.`,
  },
  block_not_empty: {
    status: 409,
    title: "The block is not empty",
    retry: "later",
    cni: 120,
    meaning: "The block was to be given up only if empty, and it holds allocated or cooling addresses.",
    next: "Drain the block's host, or wait for the cooldown.",
    evidence: ["block", "allocated"],
    detail: (e) => `Block ${e.block} holds ${e.allocated} addresses.`,
  },
  block_owned_by_other: {
    status: 409,
    title: "The block belongs to another owner",
    retry: "after_change",
    cni: 120,
    meaning: "The block that was to be claimed or given up belongs to another owner.",
    next: "GET /v1/blocks/{block} names the owner.",
    evidence: ["block", "host"],
    detail: (e) => `Block ${e.block} belongs to ${e.host}.`,
  },
  cidr_not_in_pool: {
    status: 409,
    title: "The range is in no pool",
    retry: "after_change",
    cni: 120,
    meaning: "The range that was to be claimed is not inside an enabled pool.",
    next: "Choose a range inside an enabled pool (GET /v1/pools).",
    evidence: ["block"],
    detail: ({ block }) => `${block} is in no enabled pool.`,
  },
};
