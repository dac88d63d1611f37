import { closeClaim } from "../claim/close.js";
import { keepLease } from "../claim/lease.js";
import type { RetryError } from "../errors.js";
import { codeOf } from "../errors.js";
import type { DeliveryContext } from "../handler.js";
import { andThen, isPromise, tryThen } from "../lib/maybe-promise.js";
import type { MaybePromise } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";
import { handle, InvalidEvent } from "./handle.js";

/**
 * Stage 6: the handler, then `complete` or `release`. When the handler's time is up the sender gets
 * its response, but the run keeps its lease until the handler settles: no process can stop it, and no
 * other may start it meanwhile.
 */
export function run(state: DeliveryState): MaybePromise<Ending> {
  const { config, claim } = state;
  // What is optional on the way is known once a claim is held.
  const context = state.context as unknown as DeliveryContext;
  // A resumed delivery has no sender that waits.
  const timeoutAt = state.isResumed ? Infinity : config.clock.monotonic() + config.handlerTimeoutMs;
  let isAnswered = false;
  let stopKeeping: (() => void) | undefined;
  let answerEarly: (ending: Ending) => void;

  const done = tryThen(
    () => underLease(handle(state, context)),
    (result) => (isIterator(result) ? fail(new TypeError(notRun)) : close(endWith("processed"))),
    fail,
  );
  state.background(done);
  // All asynchronous work has started by now; if no lease is kept, none needs to be.
  if (!stopKeeping || !isPromise(done)) return done;
  return new Promise((resolve, reject) => {
    answerEarly = resolve;
    done.then(resolve, reject);
  });

  function fail(error: unknown): MaybePromise<Ending> {
    return andThen(endingOf(error), close);
  }

  /** Keeps the lease, and watches the handler's time, while the user's code is pending. */
  function underLease(work: MaybePromise<unknown>): MaybePromise<unknown> {
    if (isPromise(work)) {
      stopKeeping ??= keepLease(config, claim, () => state.loseLease(), timeoutAt, onTimeout);
    }
    return work;
  }

  function onTimeout(): void {
    isAnswered = true;
    state.context.abort("handler_timeout");
    answerEarly(endWith("handler_timeout"));
  }

  /** How the run ends, by what was thrown. */
  async function endingOf(error: unknown): Promise<Ending> {
    let problem = error;
    let retryAfterMs: number | undefined;
    try {
      if (error instanceof InvalidEvent) return endWith("event_invalid", error.message);
      const code = codeOf(error);
      if (code === "retry_error") ({ retryAfterMs } = error as RetryError);
      if (typeof retryAfterMs !== "number") retryAfterMs = undefined;
      if (code === "permanent_error") {
        const { onParked } = config;
        await underLease(onParked(error, context));
        return endWith("parked");
      }
    } catch (another) {
      problem = another;
    }
    config.onHandlerError(problem, context);
    return endWith("handler_failed", undefined, retryAfterMs);
  }

  function close(ending: Ending): MaybePromise<Ending> {
    stopKeeping?.();
    // A handler that never gave way to the timers may have outlived its lease unseen.
    state.checkLease();
    claim.held = false;
    return andThen(closeClaim(config, claim, releasedTo(ending), onCloseError), () => {
      if (isAnswered) {
        state.lap("run");
        state.end("settled", ending);
      }
      return ending;
    });
  }

  function onCloseError(error: unknown, retries: Promise<void>, isCompletion: boolean): void {
    if (isCompletion) state.warn("complete_failed");
    config.onInternalError(error);
    state.background(retries);
  }
}

/** The state of the record after the run; undefined where it is completed. */
const releasedTo = ({ code }: Ending) =>
  code === "processed" ? undefined : code === "parked" ? code : "failed";

const isIterator = (result: unknown) =>
  typeof (result as Partial<Iterator<unknown>> | null | undefined)?.next === "function";

/** The code of a generator runs only when something iterates over its result. */
const notRun = "the handler returned an iterator: it must not be a generator (function*)";
