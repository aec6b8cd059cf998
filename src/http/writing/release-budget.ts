/**
 * How many object calls releases make in one event: its own, and those of others that ride with it.
 * May import: http. Rule: an event stays below 900 calls; what is beyond is not said to be done.
 */
import type { Call } from "../operation.ts";

/** Calls of one event, with some to spare for what else its request asks. */
const CALLS_MAX = 850;
/** Of these, what an event may spend on requests that ride with it: its own must not fail for them. */
const FOR_OTHERS_MAX = 400;

interface Budget {
  left: number;
  leftForOthers: number;
}

/** A request has one call object, whatever it releases. */
const budgets = new WeakMap<Call, Budget>();

function budgetOf(call: Call): Budget {
  const known = budgets.get(call) ?? { left: CALLS_MAX, leftForOthers: FOR_OTHERS_MAX };
  budgets.set(call, known);
  return known;
}

/** Takes as many calls as are left, at most so many; returns how many. */
export function takeUpTo(calls: number, call: Call): number {
  const budget = budgetOf(call);
  const taken = Math.min(calls, budget.left);
  budget.left -= taken;
  return taken;
}

/** Gives back calls that were taken and not made. */
export function giveBack(calls: number, call: Call): void {
  budgetOf(call).left += calls;
}

/** Takes calls for requests that ride with this one; false: they ask for themselves. */
export function takeForRiders(calls: number, call: Call): boolean {
  const budget = budgetOf(call);
  if (calls > Math.min(budget.left, budget.leftForOthers)) return false;
  budget.left -= calls;
  budget.leftForOthers -= calls;
  return true;
}
