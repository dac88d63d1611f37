import type { StoredDelivery } from "./delivery.js";
import type { AnyEvent, EventFor, HandlerKey } from "./events.js";
import type { DeliveryFacts } from "./outcome.js";

/**
 * Your code for one event. Resolve: the event is processed and never runs again. Throw: the sender
 * gets 500 and its next attempt runs again; throw `RetryError` to say when, `PermanentError` if it can
 * never succeed. It may start more than once for one event, so make it idempotent
 * (`context.idempotencyKey`).
 */
export type Handler<Event = AnyEvent> = (event: Event, context: DeliveryContext) => unknown;

/**
 * Handlers by exact type (`"email.sent"`), prefix (`"email.*"`) or for the rest (`"*"`). The most
 * exact one runs, alone. The type of a map written apart from `createReceiver`: there each pattern
 * gets the union of all it could cover.
 */
export type Handlers<Events = {}> = {
  readonly [Key in HandlerKey<Events>]?: Handler<EventFor<Events, Key>> | undefined;
};

/** Why `context.signal` was aborted. */
export interface SignalReason extends Error {
  /**
   * `lease_lost`: another run may have started, stop. `handler_timeout`: the sender has its answer;
   * finishing is still welcome and will be recorded.
   */
  readonly code: "lease_lost" | "handler_timeout";
}

/** Everything a handler may want to know about its delivery. */
export interface DeliveryContext extends DeliveryFacts {
  readonly type: string;
  readonly deliveryId: string;
  readonly eventIdSigned: boolean;
  /**
   * `verified`: this run was claimed. `unverified`: the store could not be asked and `onStoreError`
   * is `"process"`; another run of the same event may be under way.
   */
  readonly dedupe: "verified" | "unverified";
  readonly secretId: string;
  /** 32 hex digits, the same for every attempt and run of this event, also across key rotations. For payment and mail APIs. */
  readonly idempotencyKey: string;
  /** Aborted with a {@link SignalReason}, once, when the lease is lost or the answer had to be sent, whichever comes first. */
  readonly signal: AbortSignal;
  /** The delivery with its exact bytes, to be stored and given to `receive()` again. */
  readonly delivery: StoredDelivery;
}
