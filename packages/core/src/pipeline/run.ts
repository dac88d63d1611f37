import { contextOf } from "../context.js";
import type { PermanentError, RetryError } from "../errors.js";
import { watch } from "../lease.js";
import { Ending } from "../outcome.js";
import { InvalidEvent, perform } from "../perform.js";
import { isPromise, type MaybePromise } from "../promise.js";
import { settle } from "../settle.js";
import type { ReleaseRequest } from "../store.js";
import type { Visit } from "../visit.js";

/**
 * Stage 6: the handler, then `complete` or `release`. When the handler's time is up the sender gets
 * its answer, but the run keeps its lease until the handler settles: nobody can stop it, and nobody
 * else may start it meanwhile.
 */
export function run(visit: Visit): Promise<Ending> {
  const { config } = visit;
  const context = contextOf(visit);
  const timeoutAt = config.clock.monotonic() + config.handlerTimeoutMs;
  let answered = false;
  let leased = visit.facts.dedupe === "verified";
  let stopWatch: (() => void) | undefined;

  const leaseLost = () => {
    leased = false;
    visit.warn("lease_lost");
    context.abort("lease_lost");
  };

  return new Promise((answer, fail) => {
    const timeout = () => {
      answered = true;
      context.abort("handler_timeout");
      answer(new Ending("handler_timeout"));
    };

    /** Waits for the user's code under the lease and the handler's time. */
    const supervise = async (start: () => MaybePromise<unknown>) => {
      const work = start();
      if (!isPromise(work)) return;
      stopWatch ??= watch(visit, timeoutAt, { timeout, leaseLost });
      await work;
    };

    /** What the record becomes and what the sender is told, by what was thrown. */
    const failure = async (error: unknown): Promise<readonly [ReleaseRequest["to"], Ending]> => {
      let problem = error;
      let retryAfterMs: number | undefined;
      try {
        if (error instanceof InvalidEvent) {
          return ["failed", new Ending("event_invalid", error.message)];
        }
        // By code, not class: another copy of this package may have made them.
        const thrown = Object(error) as {
          readonly code?: (PermanentError | RetryError)["code"];
          readonly retryAfterMs?: number;
        };
        if (thrown.code === "retry_error") retryAfterMs = thrown.retryAfterMs;
        if (thrown.code === "permanent_error") {
          await supervise(() => config.onParked(error, context));
          return ["parked", new Ending("parked")];
        }
      } catch (another) {
        problem = another;
      }
      config.isolated(() => config.onHandlerError(problem, context));
      return ["failed", new Ending("handler_failed", undefined, retryAfterMs)];
    };

    const work = async () => {
      let ending = new Ending("processed");
      let to: ReleaseRequest["to"] | undefined;
      try {
        await supervise(() => perform(visit, context));
      } catch (error) {
        [to, ending] = await failure(error);
      }
      stopWatch?.();
      // A handler that never gave way to the timers may have outlived its lease unseen.
      if (leased && config.clock.monotonic() >= visit.leaseEndsAt) leaseLost();
      await settle(visit, to ? "release" : "complete", to);
      if (!answered) return answer(ending);
      visit.lap("run");
      visit.end("settled", ending);
    };
    visit.background(work().catch(fail));
  });
}
