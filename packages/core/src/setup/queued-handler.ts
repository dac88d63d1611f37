import type { AnyEvent } from "../events.js";
import type { DeliveryContext, Handler } from "../handler.js";
import type { DeadlineCall, MaybePromise } from "../store.js";

/** The context of a delivery that is stored: it has no run. */
export type EnqueueContext = Omit<DeliveryContext, "dedupe" | "run" | "fence" | "signal">;

/** Stores a delivery in a queue. Resolves when the queue has it. */
export type StoreInQueue = (
  event: AnyEvent,
  context: EnqueueContext,
  call: DeadlineCall,
) => MaybePromise<unknown>;

/**
 * The property of a handler that runs from a queue. Registered globally, because an application may load the core
 * as ESM and as CommonJS.
 */
export const enqueueKey: unique symbol = Symbol.for("svc-webhooks.enqueue");

/** Returns the function that stores the deliveries of a handler, or undefined if it runs inline. */
export const enqueueOf = (handler: Handler<unknown>): StoreInQueue | undefined =>
  (handler as { readonly [enqueueKey]?: StoreInQueue })[enqueueKey];
