import { contextOf } from "../context.js";
import { watch } from "../lease.js";
import { Ending } from "../outcome.js";
import { isPromise } from "../promise.js";
import { callStore } from "../store-call.js";
import type { Visit } from "../visit.js";

const completeRetryMs = 1_000;

/**
 * Stage 6: the handler, then `complete` or `release`. When the handler's time is up the sender gets
 * its answer, but the run keeps its lease until the handler settles: nobody can stop it, and nobody
 * else may start it meanwhile.
 */
export function run(visit: Visit): Promise<Ending> {
  return new Promise((answer, fail) => {
    const { config } = visit;
    const context = contextOf(visit);
    let answered = false;
    let leased = true;

    const timeout = () => {
      answered = true;
      context.abort("handler_timeout");
      answer(new Ending("handler_timeout"));
    };
    const leaseLost = () => {
      leased = false;
      visit.warn("lease_lost");
      context.abort("lease_lost");
    };

    const work = async () => {
      let stopWatch: (() => void) | undefined;
      let settle = succeeded;
      const timeoutAt = config.clock.monotonic() + config.handlerTimeoutMs;
      try {
        const running = visit.handler(visit.event, context);
        if (isPromise(running)) {
          stopWatch = watch(visit, timeoutAt, { timeout, leaseLost });
          await running;
        }
      } catch (error) {
        config.isolated(() => config.onHandlerError(error, context));
        settle = failed;
      }
      stopWatch?.();
      // A handler that never gave way to the timers may have outlived its lease unseen.
      if (leased && config.clock.monotonic() >= visit.leaseEndsAt) leaseLost();
      const ending = await settle(visit);
      if (!answered) return answer(ending);
      visit.lap("run");
      visit.end("settled", ending);
    };
    visit.background(work().catch(fail));
  });
}

async function succeeded(visit: Visit): Promise<Ending> {
  try {
    await callStore(visit, "complete");
  } catch (error) {
    // The effects have happened: any 5xx would only force a second run.
    visit.warn("complete_failed");
    visit.config.internalError(error);
    visit.background(completeLater(visit));
  }
  return new Ending("processed");
}

/** Tries on as long as the lease keeps others from running it again. */
async function completeLater(visit: Visit): Promise<void> {
  const { clock } = visit.config;
  while (clock.monotonic() < visit.leaseEndsAt) {
    try {
      await new Promise<void>((resume) => clock.after(completeRetryMs, resume));
      return void (await callStore(visit, "complete"));
    } catch {
      // The first failure was reported; the next attempt or the end of the lease settles it.
    }
  }
}

async function failed(visit: Visit): Promise<Ending> {
  try {
    await callStore(visit, "release", "failed");
  } catch (error) {
    // The lease ends by itself; until then the sender's attempts get 503.
    visit.config.internalError(error);
  }
  return new Ending("handler_failed");
}
