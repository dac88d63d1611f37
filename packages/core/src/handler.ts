import type { StoredDelivery } from "./delivery.js";
import type { AnyEvent, EventFor, HandlerKey } from "./events.js";
import type { DeliveryFacts } from "./outcome.js";

/**
 * Your code for one event. If it returns or resolves, the event is recorded as processed, and duplicates do not run it
 * again. If it throws or rejects, the response is 500, and the next attempt, by the sender or by a queue, calls it
 * again. Throw `RetryError` to choose the time of that attempt, or `PermanentError` if the event can never succeed. A
 * handler may start more than once for one event, so make it idempotent (`context.idempotencyKey`).
 */
export type Handler<Event = AnyEvent> = (
  this: void,
  event: Event,
  context: DeliveryContext,
) => HandlerResult;

/**
 * Any value except an iterator: a call of a generator function (`async function*`) only returns an iterator and does
 * not run the function's body. A promise is awaited; its value is not used.
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
 * Handlers by exact type (`"email.sent"`), by prefix (`"email.*"`) and for all other types (`"*"`). Only the most
 * specific handler runs. Use this type for a map declared outside `createReceiver`; each pattern then receives the
 * union of all types that it matches.
 */
export type Handlers<Events = {}> = {
  readonly [Key in HandlerKey<Events>]?: Handler<EventFor<Events, Key>> | undefined;
};

/** The reason why `context.signal` was aborted. */
export interface SignalReason extends Error {
  /**
   * `lease_lost`: another run may have started, so stop. `handler_timeout`: the response is sent without the handler's
   * result. The handler may finish, and its result is still recorded.
   */
  readonly code: "lease_lost" | "handler_timeout";
}

interface ContextFields extends Omit<DeliveryFacts, "dedupe" | "run" | "fence"> {
  /** The event's type: from the signed body, unless the scheme reads it from a header. */
  readonly type: string;
  /**
   * The unsigned `X-SVC-Delivery-Id`, or the scheme's delivery id: 1 … 256 visible ASCII characters without a comma.
   */
  readonly deliveryId: string;
  /**
   * True if `eventId` comes from the signed body (option `eventId`), false if it comes from the unsigned
   * `X-SVC-Event-Id` or is absent.
   */
  readonly eventIdSigned: boolean;
  /**
   * Identifies the event as `dedupeBy` defines it: 32 hex digits, the same for every attempt and run, even after a
   * rotation of the secret. With `dedupeBy: "delivery"`, the same event under another delivery id has another key. Pass
   * the key to payment and mail APIs.
   */
  readonly idempotencyKey: string;
  /**
   * Aborted once, with a {@link SignalReason}, when the lease is lost or `handlerTimeoutMs` has passed, whichever comes
   * first. `resume` has no such timeout.
   */
  readonly signal: AbortSignal;
  /** The delivery with its exact bytes, for `serializeDelivery()` and `receiver.resume()`. */
  readonly delivery: StoredDelivery;
}

/** The fields of a run with a claim. */
interface ClaimedRun {
  readonly dedupe: "verified";
  /**
   * The number of this run, counted by the receiver: 1 for the first run of this record, and again for the first run
   * after the record was parked.
   */
  readonly run: number;
  /**
   * A number that grows with every run of this record. Have your database reject a write whose fence is smaller than
   * that of an earlier write.
   */
  readonly fence: number;
}

/**
 * The fields of a run without a claim: the store failed to decide about the claim, and `onStoreError` is `"process"`.
 * Another run of the same event may be active.
 */
interface UnclaimedRun {
  readonly dedupe: "unverified";
  readonly run?: undefined;
  readonly fence?: undefined;
}

/** The facts of a delivery and its run, as a handler receives them. */
export type DeliveryContext = ContextFields & (ClaimedRun | UnclaimedRun);
