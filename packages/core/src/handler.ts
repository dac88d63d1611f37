import type { StoredDelivery } from "./delivery.js";
import type { AnyEvent, EventFor, HandlerKey } from "./events.js";
import type { DeliveryFacts } from "./outcome.js";

/**
 * Your code for one event. Resolve: the event is processed and never runs again. Throw: the sender
 * gets 500 and its next attempt runs again; throw `RetryError` to say when, `PermanentError` if it can
 * never succeed. It may start more than once for one event, so make it idempotent
 * (`context.idempotencyKey`).
 */
export type Handler<Event = AnyEvent> = (
  this: void,
  event: Event,
  context: DeliveryContext,
) => HandlerResult;

/**
 * Anything but an iterator, whose code would not have run (`async function*`): the value is not used,
 * a promise is awaited.
 */
export type HandlerResult =
  | (object & { readonly next?: never })
  | PromiseLike<unknown>
  | string
  | number
  | bigint
  | boolean
  | symbol
  | null
  | undefined
  | void;

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

interface ContextFields extends Omit<DeliveryFacts, "dedupe" | "run" | "fence"> {
  readonly type: string;
  readonly deliveryId: string;
  readonly eventIdSigned: boolean;
  /** 32 hex digits, the same for every attempt and run of this event, also across key rotations. For payment and mail APIs. */
  readonly idempotencyKey: string;
  /** Aborted with a {@link SignalReason}, once, when the lease is lost or the response had to be sent, whichever comes first. */
  readonly signal: AbortSignal;
  /** The delivery with its exact bytes, for `serializeDelivery()` and `receiver.resume()`. */
  readonly delivery: StoredDelivery;
}

/** A run that the store has granted. */
interface ClaimedRun {
  readonly dedupe: "verified";
  /** Our count: 1 for the first start of a handler for this record. */
  readonly run: number;
  /** A number that only grows from run to run of this record: let a database refuse writes with a smaller one. */
  readonly fence: number;
}

/**
 * A run without a claim: the store is unavailable and `onStoreError` is `"process"`. Another run of
 * the same event may be active.
 */
interface UnclaimedRun {
  readonly dedupe: "unverified";
  readonly run?: undefined;
  readonly fence?: undefined;
}

/** Everything a handler may want to know about its delivery. */
export type DeliveryContext = ContextFields & (ClaimedRun | UnclaimedRun);
