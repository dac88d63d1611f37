import type { RetryError } from "../handler-errors.js";
import { describe } from "../lib/text.js";
import { enqueueOf, type EnqueueContext, type StoreInQueue } from "../setup/queued-handler.js";
import type { DeadlineCall } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { attemptWithin } from "./drive.js";
import { endWith, type StepResult } from "./ending.js";

/** Stores the delivery in its handler's queue, within `handlerTimeoutMs`. */
export const enqueue = (state: DeliveryState): StepResult =>
  attemptWithin(state, state.config.handlerTimeoutMs, "enqueue", store, enqueued, failed);

function store(state: DeliveryState, call: DeadlineCall) {
  // The casts are safe: the handler is queued, and the earlier stages have set all fields that are optional in `Facts`.
  const storeInQueue = enqueueOf(state.handler) as StoreInQueue;
  return storeInQueue(state.event, state.context as unknown as EnqueueContext, call);
}

function enqueued(state: DeliveryState): StepResult {
  state.lap("enqueue");
  return endWith("enqueued");
}

function failed(state: DeliveryState, error: unknown): StepResult {
  state.lap("enqueue");
  const { retryAfterMs } = Object(error) as Partial<RetryError>;
  return endWith("queue_unavailable", describe(error).replace(/\.$/, ""), retryAfterMs);
}
