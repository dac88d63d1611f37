import { closeClaim } from "../claim/close.js";
import { keepLease } from "../claim/lease.js";
import { codeOf } from "../errors.js";
import type { RetryError } from "../handler-errors.js";
import type { DeliveryContext } from "../handler.js";
import { andThen, isPromise, tryThen } from "../lib/maybe-promise.js";
import type { MaybePromise } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";
import { handle, InvalidEvent } from "./handle.js";

/**
 * Stage 6: runs the handler, then completes or releases the claim. After `handlerTimeoutMs`, the sender receives its
 * response, but the run keeps its lease until the handler settles or `maxRunMs` have passed: JavaScript cannot stop a
 * handler, and no other run may start meanwhile. A run is in one of four states:
 *
 * - **running**: the handler is pending. It settles → closing. `handlerTimeoutMs` have passed → responded.
 * - **responded**: as running, but the sender has its response. The handler settles → closing.
 * - **closing**: the lease is no longer renewed, and the claim is completed or released → ended. The store refuses the
 *   completion → closing, to release the claim.
 * - **ended**: the ending is the outcome, or is reported as `settled` if the sender has had its response.
 */
export function run(state: DeliveryState): MaybePromise<Ending> {
  const { config, claim } = state;
  // The cast is safe, because the earlier stages have set all fields that are optional in `Facts`.
  const context = state.context as unknown as DeliveryContext;
  // A resumed delivery has no time limit, because no sender waits for it.
  const timeoutAt = state.isResumed ? Infinity : config.clock.monotonic() + config.handlerTimeoutMs;
  let hasResponded = false;
  let stopLease: (() => void) | undefined;
  let respondEarly: (ending: Ending) => void;

  const done = tryThen(
    () => underLease(handle(state, context)),
    (result) => (isIterator(result) ? fail(new TypeError(notRun)) : close(endWith("processed"))),
    fail,
  );
  state.track(done);
  // `stopLease` is set by now if the schema, `around` or the handler is asynchronous, or if `onParked` is and was
  // called after a synchronous error. Otherwise, no user code is pending: no lease is kept, and no timeout applies.
  if (!stopLease || !isPromise(done)) return done;
  return new Promise((resolve, reject) => {
    respondEarly = resolve;
    done.then(resolve, reject);
  });

  function fail(error: unknown): MaybePromise<Ending> {
    return andThen(endingOf(error), close);
  }

  /** Keeps the lease and limits the time of the response while the user's code is pending. */
  function underLease(work: MaybePromise<unknown>): MaybePromise<unknown> {
    if (isPromise(work)) {
      stopLease ??= keepLease(
        config,
        claim,
        () => state.loseLease(),
        timeoutAt,
        onTimeout,
        (message) => state.warn("long_run", message),
      );
    }
    return work;
  }

  function onTimeout(): void {
    hasResponded = true;
    state.context.abort("handler_timeout");
    respondEarly(endWith("handler_timeout", `${config.handlerTimeoutMs} ms have passed`));
  }

  /**
   * Resolves to the ending for an error of the handler or its schema. Passes the error to `onError` of `resume`, then
   * to `onParked` if it is permanent, otherwise to `onHandlerError` unless the schema rejected the event. An error of
   * `onParked` is passed to `onError` and `onHandlerError` too.
   */
  async function endingOf(error: unknown): Promise<Ending> {
    let problem = error;
    let retryAfterMs: unknown;
    state.failed(error);
    try {
      if (error instanceof InvalidEvent) return endWith("event_invalid", error.message);
      const code = codeOf(error);
      if (code === "retry_error") ({ retryAfterMs } = error as RetryError);
      if (code === "permanent_error") {
        const { onParked } = config;
        await underLease(onParked(error, context, !!state.options?.onError));
        return endWith("parked");
      }
    } catch (failure) {
      state.failed((problem = failure));
    }
    config.onHandlerError(problem, context);
    return endWith("handler_failed", undefined, retryAfterMs);
  }

  function close(ending: Ending): MaybePromise<Ending> {
    stopLease?.();
    // Checks the lease again: a handler that blocked the event loop may have outlived its lease before the lease's
    // timer could fire.
    state.checkLease();
    claim.held = false;
    const to = releasedTo(ending, state.options?.isLast === true);
    return tryThen(
      () =>
        closeClaim(config, claim, to, (error, retries) => {
          if (!to) state.warn("complete_failed", error);
          config.onInternalError(error, to ? "release" : "complete");
          state.track(retries);
        }),
      () => {
        if (hasResponded) {
          state.lap("run");
          state.end("settled", ending);
        }
        return ending;
      },
      // The store has refused the completion, because the work of this run failed.
      fail,
    );
  }
}

/** Returns the state to release the record to, or undefined to complete it. */
const releasedTo = ({ code }: Ending, isLast: boolean) =>
  code === "processed" ? undefined : code === "parked" || isLast ? "parked" : "failed";

const isIterator = (result: unknown) =>
  typeof (result as Partial<Iterator<unknown>> | null | undefined)?.next === "function";

/**
 * The message of the error if a handler returns an iterator: the code of a generator runs only when something
 * iterates over its result.
 */
const notRun = "A handler must not return an iterator, as generators do.";
