import type { AnyEvent } from "../events.js";
import type { DeliveryContext, Handler } from "../handler.js";
import type { CommonOptions } from "../options.js";
import type { DeadlineCall, MaybePromise } from "../store.js";

/** The context of a delivery that is stored in a queue, without the fields of a run. */
export type EnqueueContext = Omit<DeliveryContext, "dedupe" | "run" | "fence" | "signal">;

export interface StoreInQueue {
  /** Stores a delivery in a queue. Resolves when the queue has stored it. */
  (event: AnyEvent, context: EnqueueContext, call: DeadlineCall): MaybePromise<unknown>;
  /** Throws a `ConfigError` if the queue cannot store every delivery that these options accept. */
  readonly check?: ((options: Pick<Required<CommonOptions>, "maxBodyBytes">) => void) | undefined;
}

/**
 * The key of the property that marks a handler to run from a queue. Registered globally, because an application may
 * load the core both as ESM and as CommonJS.
 */
export const enqueueKey: unique symbol = Symbol.for("svc-webhooks.enqueue");

/** Returns the function that stores the deliveries of a handler, or undefined if the handler runs inline. */
export const enqueueOf = (handler: Handler<unknown>): StoreInQueue | undefined =>
  (handler as { readonly [enqueueKey]?: StoreInQueue })[enqueueKey];
