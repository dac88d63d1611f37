import type { PermanentError, RetryError } from "../errors.js";
import type { DeliveryContext } from "../handler.js";
import { checkLease, watch } from "../lease.js";
import { endWith, type Ending } from "../outcome.js";
import { InvalidEvent, perform } from "../perform.js";
import { andThen, attempt, isPromise, type MaybePromise } from "../promise.js";
import { settle } from "../settle.js";
import type { Visit } from "../visit.js";

/** What becomes of the record; nothing where it is completed. */
const releasedTo = ({ code }: Ending) =>
  code === "processed" ? undefined : code === "parked" ? code : "failed";

/**
 * Stage 6: the handler, then `complete` or `release`. When the handler's time is up the sender gets
 * its answer, but the run keeps its lease until the handler settles: nobody can stop it, and nobody
 * else may start it meanwhile.
 */
export function run(visit: Visit): MaybePromise<Ending> {
  const { config } = visit;
  // What is optional on the way is known once a claim is held.
  const context = visit.context as DeliveryContext;
  const timeoutAt = config.clock.monotonic() + config.handlerTimeoutMs;
  let answered = false;
  let stopWatch: (() => void) | undefined;
  let answerEarly: (ending: Ending) => void;

  const timeout = () => {
    answered = true;
    visit.context.abort("handler_timeout");
    answerEarly(endWith("handler_timeout"));
  };

  /** Has the user's code waited for under the lease and the handler's time, if it is to be waited for. */
  const supervise = (work: MaybePromise<unknown>) => {
    if (isPromise(work)) stopWatch ??= watch(visit, timeoutAt, timeout);
    return work;
  };

  /** How the run ends, by what was thrown. */
  const failure = async (error: unknown): Promise<Ending> => {
    let problem = error;
    let retryAfterMs: number | undefined;
    try {
      if (error instanceof InvalidEvent) return endWith("event_invalid", error.message);
      // By code, not class: another copy of this package may have made them.
      const thrown = Object(error) as {
        readonly code?: (PermanentError | RetryError)["code"];
        readonly retryAfterMs?: number;
      };
      if (thrown.code === "retry_error") retryAfterMs = thrown.retryAfterMs;
      if (thrown.code === "permanent_error") {
        await supervise(config.onParked(error, context));
        return endWith("parked");
      }
    } catch (another) {
      problem = another;
    }
    config.onHandlerError(problem, context);
    return endWith("handler_failed", undefined, retryAfterMs);
  };

  const finish = (ending: Ending) => {
    stopWatch?.();
    // A handler that never gave way to the timers may have outlived its lease unseen.
    checkLease(visit);
    visit.leased = false;
    return andThen(settle(visit, releasedTo(ending)), () => {
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
  // What is to be waited for has been started by now: a watch that is not set never is.
  if (!stopWatch || !isPromise(done)) return done;
  return new Promise((answer, fail) => {
    answerEarly = answer;
    done.then(answer, fail);
  });
}
