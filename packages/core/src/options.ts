import type { Clock } from "./clock.js";
import type { SignedBody } from "./delivery.js";
import type { EventFor, EventSchemas } from "./events.js";
import type { DeliveryContext, Handler, Handlers } from "./handler.js";
import type { Logger } from "./logger.js";
import type { DeliveryReport } from "./report.js";
import type { Scheme } from "./scheme.js";
import type { SecretSource } from "./secrets.js";
import type { DeliveryStore } from "./store.js";

/** The kind of value that identifies an event. Deliveries with the same value are duplicates. */
export type DedupeBy = "delivery" | "event" | "body";

/**
 * The deadlines of store calls, each in whole milliseconds, 1 … 10,000. Errors: `invalid_option`,
 * `unknown_option`.
 */
export interface StoreTimeouts {
  /** The deadline of `claim`. Default 1,500. */
  readonly claim?: number | undefined;
  /** The deadline of `extend`. Default 1,500. */
  readonly extend?: number | undefined;
  /** The deadline of `release`, `forget`, and each store call that `receiver.peek` makes. Default 1,500. */
  readonly release?: number | undefined;
  /** The deadline of `complete`. Unless the response has been sent, it waits for this call. Default 2,000. */
  readonly complete?: number | undefined;
}

/**
 * The options that do not depend on the types of events. A number outside its range causes the error `invalid_option`.
 */
export interface CommonOptions {
  /**
   * The signing secret, several secrets during a rotation, or a function that returns one or several within 1.5 s.
   * Errors: `invalid_secret`, `unknown_option`. If the function fails, or no key is active any more, deliveries end as
   * `misconfigured`.
   */
  readonly secret: SecretSource;

  /**
   * The scheme of the sender whose deliveries this receiver accepts, such as `stripe()` from `svc-webhooks/schemes`.
   * It determines the form of the signature, the keys, the delivery id and the defaults of `eventType`, `eventId` and
   * `handlerTimeoutMs`. Default: the service of the interface document. Errors: `invalid_option`.
   */
  readonly scheme?: Scheme | undefined;

  /**
   * The receiver's namespace in the store, 1 … 256 characters. Receivers with the same name and store share their
   * records: a delivery that one has handled is a duplicate for the others. Default `"default"`; required if other
   * processes can use the store, or another receiver named `"default"` already uses it. Errors: `missing_name`,
   * `invalid_option`.
   */
  readonly name?: string | undefined;

  /**
   * The store that keeps one record per event, so that duplicates are recognized. Default `memoryStore()`. Errors:
   * `invalid_option`.
   */
  readonly store?: DeliveryStore | undefined;

  /**
   * The kind of value that identifies an event. Deliveries with the same value are duplicates. `"delivery"` (default):
   * the unsigned delivery id. `"event"`: the event's type and its signed id, which `eventId` returns. `"body"`: the
   * bytes of the body. Errors: `invalid_option`, `missing_event_id`.
   */
  readonly dedupeBy?: DedupeBy | undefined;

  /**
   * Returns the event's type from the signed body or its exact bytes. Default: that of the scheme, otherwise the first
   * non-empty string of `type`, `event_type`, `event` (an assumption: the interface document specifies no body). Any
   * result except a non-empty string, even a promise of one, ends the delivery as `event_untyped`, and an error ends it
   * as `internal_error`. Errors: `invalid_option`.
   */
  readonly eventType?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;

  /**
   * Returns the event's unique id from the signed body or its exact bytes; in `body`, numbers beyond 2^53 are rounded.
   * Default: that of the scheme, otherwise none: ids are never guessed. `dedupeBy: "event"` requires this option or the
   * scheme's default, and a delivery without an id then ends as `misconfigured`. With any `dedupeBy`, a result other
   * than a string, null or undefined, such as a promise, ends the delivery as `misconfigured`, and an error ends it as
   * `internal_error`. Errors: `missing_event_id`, `invalid_option`.
   */
  readonly eventId?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;

  /** The largest accepted body, in bytes, 1 … 104,857,600 (100 MiB). Default 1,048,576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;

  /**
   * The time limit for a body to arrive, in milliseconds from the call of the body reader, 1 … 300,000. After that, the
   * delivery ends as `body_timeout`. Default 10,000.
   */
  readonly bodyTimeoutMs?: number | undefined;

  /**
   * How long the response waits for a handler, in milliseconds, 1 … `leaseMs` − 5,000. After that, the outcome is
   * `handler_timeout`, and the handler continues under its lease. For a handler that runs from a queue: how long the
   * response waits for the queue to store the delivery; after that, the outcome is `queue_unavailable`. Default: that
   * of the scheme, otherwise 10,000, but at most `leaseMs` − 5,000.
   */
  readonly handlerTimeoutMs?: number | undefined;

  /**
   * How long a claim, the exclusive right to run an event, lasts unless it is renewed, in milliseconds, 10,000 …
   * 3,600,000. While the handler runs, the receiver renews the claim every `leaseMs` / 3, until `maxRunMs`. Default
   * 30,000.
   */
  readonly leaseMs?: number | undefined;

  /**
   * How long the receiver keeps renewing the lease of one run, in milliseconds, `leaseMs` … 2^31 − 1. Default 900,000
   * (15 min), or `leaseMs` if that is more.
   */
  readonly maxRunMs?: number | undefined;

  /**
   * How long a record is kept after its last claim, completion or release, in milliseconds, `maxRunMs` + `leaseMs` …
   * 31,536,000,000 (365 d). It must exceed the period in which the sender retries and redelivers. Default 604,800,000
   * (7 d), or `maxRunMs` + `leaseMs` if that is more.
   */
  readonly retainMs?: number | undefined;

  /**
   * The deadlines of store calls. A call that exceeds its deadline counts as failed. Errors:
   * `invalid_option`, `unknown_option`.
   */
  readonly storeTimeouts?: StoreTimeouts | undefined;

  /**
   * The number of runs after which an event is parked, 1 … 1,000,000: the next claim parks it instead of starting the
   * handler. A run counts as soon as its claim is granted, so the limit also ends crash loops, in which no process
   * survives to report a result. Requires `onParked`, unless every handler runs from a queue, which keeps the delivery.
   * Default: no limit. Errors: `invalid_option`, `missing_on_parked`.
   */
  readonly maxRuns?: number | undefined;

  /**
   * The maximum number of verified deliveries that may be pending, 1 … 1,000,000. A delivery is pending until its
   * response has been determined, its run has ended, and the retries that complete or release its claim have ended.
   * Resumed deliveries do not count, and this limit never refuses them. A delivery above the limit ends as `overloaded`
   * (503), if possible before its body is read. Default: no limit. Errors: `invalid_option`.
   */
  readonly maxConcurrent?: number | undefined;

  /**
   * Called before the receiver parks an event, so that further deliveries do not run it, for one of three reasons: its
   * handler threw `PermanentError`, `maxRuns` is exceeded, or `resume` was called with `giveUp`. Not called if `resume`
   * parks a failed run because of `isLast`. Runs under the lease; the response waits at most `handlerTimeoutMs` for the
   * handler and this call together. When it resolves, the response is 200 and the record is parked; if it throws, the
   * event counts as failed, and `onHandlerError` receives that error. Store `serializeDelivery(context.delivery)`, so
   * that `receiver.resume()` can run it again. Default: nothing stores the delivery, and `onHandlerError` receives the
   * error. Errors: `invalid_option`.
   */
  readonly onParked?: ((error: unknown, context: DeliveryContext) => unknown) | undefined;

  /**
   * Wraps each handler, under its lease and after its schema, for example to add spans, logging context or rate limits.
   * Call `run`, which calls the handler, and return or await its result. The run succeeds only if both `around` and the
   * handler succeed, and ends when both have settled. An error of either counts as the handler's; if both fail, the
   * error of `around` counts. If `around` ends without having called `run`, the run fails with the error of `around`,
   * or as `handler_failed` if it threw none; a later call of `run` does nothing and returns undefined. Further calls of
   * `run` return or throw the result of the first. `resume` applies `around` too; storing a delivery in a queue does
   * not. Default: handlers are called directly. Errors: `invalid_option`.
   */
  readonly around?: ((run: () => unknown, context: DeliveryContext) => unknown) | undefined;

  /**
   * The reaction to a `claim` call of the store that fails or returns no valid result. `"refuse"` (default): respond
   * with 503, so that the sender tries again. `"process"`: run the handler although another run may be in progress,
   * with `context.dedupe === "unverified"`, without `run` and `fence`; `maxRuns` does not apply. Errors:
   * `invalid_option`.
   */
  readonly onStoreError?: "refuse" | "process" | undefined;

  /**
   * Receives one flat report per call of `receive` or `resume`, and one more for a run that outlives its response.
   * Default: none. Errors: `invalid_option`.
   */
  readonly observe?: ((report: DeliveryReport) => unknown) | undefined;

  /**
   * Receives the error of a failed handler or `onParked`, and of an event that is parked without `onParked`. Default:
   * writes a line to `logger` with the error's stack and causes (for a valid `RetryError`, only its message and that of
   * its cause). Characters other than printable ASCII are escaped. Errors: `invalid_option`.
   */
  readonly onHandlerError?: ((error: unknown, context: DeliveryContext) => unknown) | undefined;

  /**
   * Receives errors of hooks and of the store that do not change the outcome. Default: writes a line to `logger`.
   * Errors: `invalid_option`.
   */
  readonly onInternalError?: ((error: unknown) => unknown) | undefined;

  /** Receives the text of each line in place of `logger`, without its level and fields. Errors: `invalid_option`. */
  readonly log?: ((line: string) => void) | undefined;

  /**
   * Receives lines with a text and fields: why a request was refused, what failed, which types have no handler. Lines
   * about the same cause are written at most once a minute, except those about failed handlers, parked events, and
   * processed or enqueued deliveries. Duplicates, further deliveries of parked events, aborted requests and methods
   * other than POST are not logged. `onHandlerError` and `onInternalError` replace the lines about their errors, and
   * `log` replaces the logger. Default `console`. Errors: `invalid_option`.
   */
  readonly logger?: Logger | undefined;

  /**
   * Whether each processed or enqueued delivery is logged. Default: true on Node, Bun and Deno if stdout is a terminal
   * and `NODE_ENV` is not `production`; otherwise false. Errors: `invalid_option`.
   */
  readonly logProcessed?: boolean | undefined;

  /** The time source, for tests. Default: the system's clock. Errors: `invalid_option`. */
  readonly clock?: Clock | undefined;
}

interface EventOptions<Events> {
  /**
   * Schemas by event type: zod, valibot, arktype or any other Standard Schema, sync or async. A schema runs after the
   * claim and within `handlerTimeoutMs`; the handler receives its output. An event that its schema rejects ends as
   * `event_invalid` (500), and the sender's next attempt is validated again. Events of types without a schema reach the
   * handler unchanged. Default: none. Errors: `invalid_option`.
   */
  readonly events?: Events | undefined;
}

/** The options of a receiver, for code that declares them outside the call of `createReceiver`. */
export interface ReceiverOptions<Events extends EventSchemas = {}>
  extends CommonOptions, EventOptions<Events> {
  /**
   * Handlers by exact type, `"prefix.*"` or `"*"`, at least one. With `events`, TypeScript accepts only keys that match
   * its types. To add a type, add a schema or `eventType<MyEvent>()`: `events: { ...emailEvents, "email.bounced":
   * eventType<Bounced>() }`. Errors: `invalid_handler`.
   */
  readonly on: Handlers<Events>;
}

/**
 * The options as `createReceiver` infers them: the handler of a pattern receives only the event types that no more
 * specific key handles.
 */
export interface InferredOptions<Events extends EventSchemas, Keys extends string>
  extends CommonOptions, EventOptions<Events> {
  readonly scheme?: (Scheme & { readonly events?: Events }) | undefined;
  /**
   * Handlers by exact type, `"prefix.*"` or `"*"`, at least one. With `events`, TypeScript accepts only keys that match
   * its types. To add a type, add a schema or `eventType<MyEvent>()`: `events: { ...emailEvents, "email.bounced":
   * eventType<Bounced>() }`. Errors: `invalid_handler`.
   */
  readonly on: {
    readonly [Key in Keys]?: Handler<EventFor<Events, Key, Keys>> | undefined;
  };
}

/**
 * Makes `createReceiver({ dedupeBy: "event" })` a type error if there is neither an `eventId` nor a scheme, which may
 * have its own `eventId`.
 */
export type NeedsEventId<Dedupe extends DedupeBy> = [Dedupe] extends ["event"]
  ? { readonly eventId: NonNullable<CommonOptions["eventId"]> } | { readonly scheme: Scheme }
  : unknown;

/** The options of one `receive` or `resume` call. */
export interface ReceiveOptions {
  /**
   * Keeps the process alive until a promise settles. Called with each promise that may outlive the response, such as an
   * asynchronous run or the retries of a store call. These promises never reject.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** The options of one `resume` call. */
export interface ResumeOptions extends ReceiveOptions {
  /**
   * The `idempotencyKey` under which the delivery was stored. If this receiver computes another key, because its `name`
   * or `dedupeBy` differs from that of the receiver that stored the delivery, no handler runs, the delivery ends as
   * `misconfigured`, and `onError` receives a `PermanentError`. Default: no comparison.
   */
  readonly key?: string | undefined;
  /**
   * Receives the error of a run that fails or parks the event, before `onHandlerError` or `onParked` does, and the
   * error of a failed `onParked`. Pass it if you keep the delivery: the log line of an event parked without `onParked`
   * then does not report that the event was dropped.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /**
   * Whether a failed run parks the event, because the caller will not retry it automatically. The next `resume` then
   * starts at run 1, so that `maxRuns` counts from the start. Default false.
   */
  readonly isLast?: boolean | undefined;
  /**
   * Parks the event for this reason instead of running it, for example because its last run left no result. While that
   * run holds its lease, the outcome is `in_flight` and nothing is parked, so that the run cannot commit a store
   * transaction after the event is parked. Default: the event runs.
   */
  readonly giveUp?: string | undefined;
}
