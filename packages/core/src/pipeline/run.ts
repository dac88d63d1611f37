import { closeClaim } from "../claim/close.js";
import { keepLease } from "../claim/lease.js";
import { codeOf, type RetryError } from "../errors.js";
import type { DeliveryContext } from "../handler.js";
import { endWith, type Ending } from "../outcome.js";
import { InvalidEvent, perform } from "../perform.js";
import { andThen, attempt, isPromise, type MaybePromise } from "../promise.js";
import type { Visit } from "../visit.js";

/** What becomes of the record; nothing where it is completed. */
const releasedTo = ({ code }: Ending) =>
  code === "processed" ? undefined : code === "parked" ? code : "failed";

/**
 * Stage 6: the handler, then `complete` or `release`. When the handler's time is up the sender gets
 * its response, but the run keeps its lease until the handler settles: nobody can stop it, and nobody
 * else may start it meanwhile.
 */
export function run(visit: Visit): MaybePromise<Ending> {
  const { config, claim } = visit;
  // What is optional on the way is known once a claim is held.
  const context = visit.context as unknown as DeliveryContext;
  // A resumed delivery has no sender that waits.
  const timeoutAt = visit.isResumed ? Infinity : config.clock.monotonic() + config.handlerTimeoutMs;
  let answered = false;
  let stopKeeping: (() => void) | undefined;
  let answerEarly: (ending: Ending) => void;

  const onTimeout = () => {
    answered = true;
    visit.context.abort("handler_timeout");
    answerEarly(endWith("handler_timeout"));
  };

  /** Awaits the user's code under the lease and the handler's time, if it is a promise. */
  const supervise = (work: MaybePromise<unknown>) => {
    if (isPromise(work)) {
      stopKeeping ??= keepLease(config, claim, () => visit.loseLease(), timeoutAt, onTimeout);
    }
    return work;
  };

  /** How the run ends, by what was thrown. */
  const failure = async (error: unknown): Promise<Ending> => {
    let problem = error;
    let retryAfterMs: number | undefined;
    try {
      if (error instanceof InvalidEvent) return endWith("event_invalid", error.message);
      const code = codeOf(error);
      if (code === "retry_error") ({ retryAfterMs } = error as RetryError);
      if (code === "permanent_error") {
        const { onParked } = config;
        await supervise(onParked(error, context));
        return endWith("parked");
      }
    } catch (another) {
      problem = another;
    }
    config.onHandlerError(problem, context);
    return endWith("handler_failed", undefined, retryAfterMs);
  };

  const finish = (ending: Ending) => {
    stopKeeping?.();
    // A handler that never gave way to the timers may have outlived its lease unseen.
    visit.checkLease();
    claim.held = false;
    const to = releasedTo(ending);
    const onError = (error: unknown, retries: Promise<void>) => {
      if (!to) visit.warn("complete_failed");
      config.onInternalError(error);
      visit.background(retries);
    };
    return andThen(closeClaim(config, claim, to, onError), () => {
      if (answered) {
        visit.lap("run");
        visit.end("settled", ending);
      }
      return ending;
    });
  };

  const done = attempt(
    () => supervise(perform(visit, context)),
    () => finish(endWith("processed")),
    (error) => andThen(failure(error), finish),
  );
  visit.background(done);
  // All asynchronous work has started by now; if no lease is kept, none needs to be.
  if (!stopKeeping || !isPromise(done)) return done;
  return new Promise((answer, fail) => {
    answerEarly = answer;
    done.then(answer, fail);
  });
}
