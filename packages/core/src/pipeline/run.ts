import { closeLater } from "../claim/close.js";
import { requestClose, type ClosedTo } from "../claim/store-call.js";
import { codeOf } from "../errors.js";
import type { RetryError } from "../handler-errors.js";
import { isPromise } from "../lib/maybe-promise.js";
import type { DeadlineCall, MaybePromise } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { attempt, attemptWithin, waitFor } from "./drive.js";
import { endWith, type Ending, type StepResult } from "./ending.js";
import { contextOf, handle, InvalidEvent } from "./handle.js";
import { Lease } from "./lease.js";

/**
 * Stage 6: runs the handler, then completes or releases the claim. After `handlerTimeoutMs`, the sender receives its
 * response, but the run keeps its lease until the handler settles or `maxRunMs` have passed: JavaScript cannot stop a
 * handler, and no other run may start while it is pending. No field holds the state of a run; its functions are its
 * states:
 *
 * - **running** (`startHandler`): the handler is pending. It settles → closing. `handlerTimeoutMs` have passed →
 *   responded.
 * - **responded** (`onTimeout`): as running, but the sender has its response. The handler settles → closing.
 * - **closing** (`close`): the lease is no longer renewed, and the claim is completed or released → ended. The store
 *   refuses the completion → closing, to release the claim.
 * - **ended** (`closed`, `closeFailed`): the ending is the outcome, or is reported as `settled` if the sender has had
 *   its response.
 */
export function runWithin(state: DeliveryState): StepResult {
  const { clock, handlerTimeoutMs } = state.config;
  state.timeoutAt = clock.monotonic() + handlerTimeoutMs;
  return run(state);
}

/** As {@link runWithin}, without a time limit, for a delivery whose sender does not wait. */
export const run = (state: DeliveryState): StepResult =>
  attempt(state, startHandler, succeed, fail);

const startHandler = (state: DeliveryState) => keepLeaseWhile(state, handle(state));

/** Keeps the lease and limits the time of the response while the user's code is pending. Returns `work`. */
function keepLeaseWhile<T>(state: DeliveryState, work: MaybePromise<T>): MaybePromise<T> {
  if (isPromise(work)) {
    state.outliveResponse();
    state.lease ??= new Lease(state, onTimeout);
  }
  return work;
}

function onTimeout(state: DeliveryState): void {
  state.context.abort("handler_timeout");
  state.lap("run");
  state.respond(endWith("handler_timeout", `${state.config.handlerTimeoutMs} ms have passed`));
}

const succeed = (state: DeliveryState, result: unknown): StepResult =>
  isIterator(result) ? fail(state, new TypeError(notRun)) : close(state, endWith("processed"));

function fail(state: DeliveryState, error: unknown): StepResult {
  state.outliveResponse();
  return waitFor(state, endingOf(state, error), close);
}

/**
 * Resolves to the ending for an error of the handler or its schema. Passes the error to `onError` of `resume`, then to
 * `onParked` if it is permanent, otherwise to `onHandlerError` unless the schema rejected the event. An error of
 * `onParked` is passed to `onError` and `onHandlerError` too.
 */
async function endingOf(state: DeliveryState, error: unknown): Promise<Ending> {
  const { config } = state;
  const context = contextOf(state);
  let problem = error;
  let retryAfterMs: unknown;
  state.passToOnError(error);
  try {
    if (error instanceof InvalidEvent) return endWith("event_invalid", error.message);
    const code = codeOf(error);
    if (code === "retry_error") ({ retryAfterMs } = error as RetryError);
    if (code === "permanent_error") {
      await keepLeaseWhile(state, config.onParked(error, context, !!state.options?.onError));
      return endWith("parked");
    }
  } catch (failure) {
    problem = failure;
    state.passToOnError(failure);
  }
  config.onHandlerError(problem, context);
  return endWith("handler_failed", undefined, retryAfterMs);
}

/** Completes the claim if the event was processed, otherwise releases it. */
function close(state: DeliveryState, ending: Ending): StepResult {
  const { config, claim } = state;
  state.lease?.stop();
  // Checks the lease again: a handler that blocked the event loop may have outlived its lease before the lease's timer
  // could fire.
  state.checkLease();
  // A pending extension must no longer report the lease as lost.
  claim.held = false;
  state.ending = ending;
  const { complete, release } = config.storeTimeouts;
  return closedTo(state)
    ? attemptWithin(state, release, "store.release", closeRecord, closed, closeFailed)
    : attemptWithin(state, complete, "store.complete", closeRecord, closed, closeFailed);
}

function closeRecord(state: DeliveryState, call: DeadlineCall): MaybePromise<unknown> {
  const { config, claim } = state;
  const result = requestClose(config, claim, closedTo(state), call);
  // Cloudflare Workers would otherwise cancel this call if the client disconnects.
  if (isPromise(result)) state.outliveResponse();
  return result;
}

const closed = ({ ending }: DeliveryState): StepResult => ending;

function closeFailed(state: DeliveryState, error: unknown): StepResult {
  const { config, claim, ending } = state;
  const to = closedTo(state);
  if (!to) {
    // The store has refused the completion, because the work of this run failed.
    if (codeOf(error) === "handler_failed") return fail(state, error);
    state.warn("complete_failed", error);
  }
  config.onInternalError(error, to ? "release" : "complete");
  state.track(closeLater(config, claim, to, error));
  return ending;
}

function closedTo({ ending: { code }, options }: DeliveryState): ClosedTo {
  if (code === "processed") return undefined;
  return code === "parked" || options?.isLast === true ? "parked" : "failed";
}

function isIterator(result: unknown): boolean {
  try {
    return typeof (result as Partial<Iterator<unknown>> | null | undefined)?.next === "function";
  } catch {
    return false;
  }
}

/**
 * The message of the error if a handler returns an iterator: the code of a generator runs only when something
 * iterates over its result.
 */
const notRun = "A handler must not return an iterator, as generators do.";
