import type { RetryError } from "../handler-errors.js";
import { withDeadline } from "../lib/deadline.js";
import { tryThen } from "../lib/maybe-promise.js";
import { describe } from "../lib/text.js";
import type { EnqueueContext, StoreInQueue } from "../setup/queued-handler.js";
import type { MaybePromise } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";

/** Stores the delivery in its handler's queue, within `handlerTimeoutMs`. */
export function enqueue(state: DeliveryState, store: StoreInQueue): MaybePromise<Ending> {
  const { clock, handlerTimeoutMs } = state.config;
  // The cast is safe, because the earlier stages have set all fields that are optional in `Facts`.
  const context = state.context as unknown as EnqueueContext;
  const end = (...ending: Parameters<typeof endWith>) => {
    state.lap("enqueue");
    return endWith(...ending);
  };
  return tryThen(
    () =>
      withDeadline(clock, handlerTimeoutMs, "enqueue", (call) => store(state.event, context, call)),
    () => end("enqueued"),
    (error) =>
      end(
        "queue_unavailable",
        describe(error).replace(/\.$/, ""),
        (Object(error) as Partial<RetryError>).retryAfterMs,
      ),
  );
}
