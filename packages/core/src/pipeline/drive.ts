/**
 * Runs deliveries without `async` functions: those create promises even if they wait for nothing, and most deliveries
 * wait only for their body and their handler. Instead, the code that an `async` function would have between two
 * `await`s is a function of its own:
 *
 * - A _step_ is a function of the delivery's state, and of a value if it continues after another step. It is never a
 *   closure over the state, because V8 would allocate memory for the captured variables each time.
 * - A step returns a {@link StepResult}: the ending of the delivery, undefined to go to the next stage, or
 *   {@link waiting}.
 * - `return follow(state, value, next)` stands for `return next(state, await value)`.
 * - `return attempt(state, work, next, failed)` stands for an `await work(state)` in a `try` block: the next step is
 *   `next` with the value or `failed` with the error. `attemptWithin` also has a deadline.
 * - If the value is not a promise, the next step runs immediately. Otherwise, these functions return `waiting`. When
 *   the promise settles, `proceed` runs the next step and then the stages that are left.
 */

import { describe } from "../lib/text.js";
import { isPromise } from "../lib/maybe-promise.js";
import { LazySignal, settleWithin } from "../lib/deadline.js";
import type { Outcome } from "../outcome.js";
import type { DeadlineCall, MaybePromise } from "../store.js";
import type { DeliveryState, PipelineStage } from "./delivery-state.js";
import { endWith, waiting, type StepResult } from "./ending.js";

/** A step that continues with a value. */
export type Next<T> = (state: DeliveryState, value: T) => StepResult;

/** Runs the stages of a delivery. Returns a promise of its outcome only if a step waits. */
export function drive(state: DeliveryState): MaybePromise<Outcome> {
  nextStages(state);
  return state.outcome ?? outcomeOf(state);
}

const outcomeOf = (state: DeliveryState) =>
  new Promise<Outcome>((resolve) => {
    state.onOutcome = resolve;
  });

/** Runs stages until one ends the delivery or waits. */
function nextStages(state: DeliveryState): void {
  try {
    let result: StepResult;
    do {
      state.stageIndex += 1;
      result = stageOf(state).run(state);
    } while (endStage(state, result));
  } catch (error) {
    failInternally(state, error);
  }
}

/** Runs the step that continues a waiting stage, then the stages that are left. */
function proceed<T>(state: DeliveryState, next: Next<T>, value: T): void {
  try {
    if (endStage(state, next(state, value))) nextStages(state);
  } catch (error) {
    failInternally(state, error);
  }
}

/** Ends a stage, and the delivery with it if the result is an ending. Returns true if the next stage follows. */
function endStage(state: DeliveryState, result: StepResult): boolean {
  if (result === waiting) return false;
  state.lap(stageOf(state).name);
  if (result) state.finish(result);
  return !result;
}

// The cast is safe, because the last stage never returns undefined.
const stageOf = ({ stages, stageIndex }: DeliveryState) => stages[stageIndex] as PipelineStage;

const failInternally = (state: DeliveryState, error: unknown) =>
  state.finish(endWith("internal_error", describe(error)));

const rethrow = (_state: DeliveryState, error: unknown): never => {
  throw error;
};

/**
 * Continues with `next` and the value of a promise, or with `failed` and its error. By default, its error ends the
 * delivery as `internal_error`.
 */
export function waitFor<T>(
  state: DeliveryState,
  promise: Promise<T>,
  next: Next<T>,
  failed: Next<unknown> = rethrow,
): typeof waiting {
  // Converted to a promise, because a user's thenable may settle twice, or its `then` may return nothing.
  void Promise.resolve(promise).then(
    (value) => proceed(state, next, value),
    (error: unknown) => proceed(state, failed, error),
  );
  return waiting;
}

/** Continues with `next` and a value, which may be a promise. */
export const follow = <T>(
  state: DeliveryState,
  value: MaybePromise<T>,
  next: Next<T>,
): StepResult => (isPromise(value) ? waitFor(state, value, next) : next(state, value));

/** Continues with `next` and the result of `work`, or with `failed` and its error. Errors of `next` end the delivery. */
export function attempt<T>(
  state: DeliveryState,
  work: (state: DeliveryState) => MaybePromise<T>,
  next: Next<T>,
  failed: Next<unknown>,
): StepResult {
  let value: MaybePromise<T>;
  try {
    value = work(state);
    // In the `try` block, because reading a user's `then` may throw too.
    if (isPromise(value)) return waitFor(state, value, next, failed);
  } catch (error) {
    return failed(state, error);
  }
  return next(state, value);
}

/** As {@link attempt}, but if `work` takes longer than `ms` milliseconds, continues with `failed` and an error. */
export function attemptWithin<T>(
  state: DeliveryState,
  ms: number,
  name: string,
  work: (state: DeliveryState, call: DeadlineCall) => MaybePromise<T>,
  next: Next<T>,
  failed: Next<unknown>,
): StepResult {
  const call = new LazySignal();
  let value: MaybePromise<T>;
  try {
    value = work(state, call);
    if (isPromise(value)) return waitWithin(state, ms, name, call, value, next, failed);
  } catch (error) {
    return failed(state, error);
  }
  return next(state, value);
}

function waitWithin<T>(
  state: DeliveryState,
  ms: number,
  name: string,
  call: LazySignal,
  promise: Promise<T>,
  next: Next<T>,
  failed: Next<unknown>,
): typeof waiting {
  settleWithin(state.config.clock, ms, name, call, promise, (isError, result) =>
    proceed(state, (isError ? failed : next) as Next<unknown>, result),
  );
  return waiting;
}
