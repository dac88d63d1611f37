import type { Clock } from "./clock.js";
import type { SignedBody } from "./delivery.js";
import type { EventFor, EventSchemas } from "./events.js";
import type { DeliveryContext, Handler, Handlers } from "./handler.js";
import type { Logger } from "./logger.js";
import type { DeliveryReport } from "./report.js";
import type { Scheme } from "./scheme.js";
import type { SecretSource } from "./secrets.js";
import type { DeliveryStore } from "./store.js";

/** The value that identifies an event: deliveries with the same value are duplicates. */
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
  /** The deadline of `complete`. The response waits for this call. Default 2,000. */
  readonly complete?: number | undefined;
}

/**
 * The options that do not depend on the types of events. A number outside its range causes the error `invalid_option`.
 */
export interface CommonOptions {
  /**
   * The signing secret, several secrets during a rotation, or a function that returns either within 1.5 s. Errors:
   * `invalid_secret`, `unknown_option`; if the function fails, the delivery ends as `misconfigured`.
   */
  readonly secret: SecretSource;

  /**
   * The sender whose deliveries this receiver accepts, such as `stripe()` from `@svc-webhooks/schemes`. It determines
   * the signature, the keys, the delivery id and the defaults of `eventType`, `eventId` and `handlerTimeoutMs`.
   * Default: the service of the interface document. Errors: `invalid_option`.
   */
  readonly scheme?: Scheme | undefined;

  /**
   * The receiver's namespace in the store, 1 … 256 characters. Receivers with the same name and store
   * treat each other's deliveries as duplicates. Default `"default"`; required if other processes or
   * receivers use the store. Errors: `missing_name`, `invalid_option`.
   */
  readonly name?: string | undefined;

  /** The store that keeps the records. Default `memoryStore()`. Errors: `invalid_option`. */
  readonly store?: DeliveryStore | undefined;

  /**
   * The value that identifies an event: deliveries with the same value are duplicates. `"delivery"` (default): the
   * unsigned delivery id. `"event"`: the event's type and its signed id, which `eventId` returns. `"body"`: the bytes
   * of the body. Errors: `invalid_option`, `missing_event_id`.
   */
  readonly dedupeBy?: DedupeBy | undefined;

  /**
   * Returns the event's type from the signed body or its exact bytes. Default: the first non-empty string of `type`,
   * `event_type`, `event` (an assumption: the interface document specifies no body). Any result except a non-empty
   * string, even a promise of one, ends the delivery as `event_untyped`, and an error ends it as `internal_error`.
   * Errors: `invalid_option`.
   */
  readonly eventType?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;

  /**
   * Returns the event's unique id from the signed body or its exact bytes; `body` rounds numbers beyond 2^53. Default:
   * none; ids are never guessed. With `dedupeBy: "event"`, it is required, and a missing id ends the delivery as
   * `misconfigured`. With any `dedupeBy`, so does a result that is neither a string nor undefined, such as a promise.
   * Errors: `missing_event_id`, `invalid_option`.
   */
  readonly eventId?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;

  /** The largest accepted body, in bytes, 1 … 104,857,600 (100 MiB). Default 1,048,576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;

  /**
   * The time limit for a body to arrive, in milliseconds from the call of its reader, 1 … 300,000. After that, the
   * delivery ends as `body_timeout`. Default 10,000.
   */
  readonly bodyTimeoutMs?: number | undefined;

  /**
   * How long the response waits for a handler, in milliseconds, 1 … `leaseMs` − 5,000. After that, the outcome is
   * `handler_timeout`, and the handler continues under its lease. Default 10,000, or `leaseMs` − 5,000 if that is less.
   */
  readonly handlerTimeoutMs?: number | undefined;

  /**
   * How long a claim lasts unless it is renewed, in milliseconds, 10,000 … 3,600,000. The receiver renews it every
   * third of this time while the handler runs. Default 30,000.
   */
  readonly leaseMs?: number | undefined;

  /**
   * How long the receiver keeps renewing the lease of one run, in milliseconds, `leaseMs` … 2^31 − 1. Default 900,000
   * (15 min), or `leaseMs` if that is more.
   */
  readonly maxRunMs?: number | undefined;

  /**
   * How long a record is kept, in milliseconds, `maxRunMs` + `leaseMs` … 31,536,000,000 (365 d). It must exceed the
   * period in which the sender retries and redelivers. Default 604,800,000 (7 d), or `maxRunMs` + `leaseMs` if more.
   */
  readonly retainMs?: number | undefined;

  /**
   * The deadlines of store calls. A call that exceeds its deadline counts as failed. Errors:
   * `invalid_option`, `unknown_option`.
   */
  readonly storeTimeouts?: StoreTimeouts | undefined;

  /**
   * The number of runs after which an event is parked, 1 … 1,000,000: the next claim parks it instead of starting the
   * handler. Claims are counted, so this also ends crash loops, in which no process survives to release its claim.
   * Requires `onParked`, unless every handler runs from a queue, which keeps the delivery. Default: no limit. Errors:
   * `invalid_option`, `missing_on_parked`.
   */
  readonly maxRuns?: number | undefined;

  /**
   * The maximum number of verified deliveries that may be pending, 1 … 1,000,000. A delivery is pending until its
   * response, a run that outlives the response, and the retries of its store calls have ended. Resumed deliveries do
   * not count and are never refused. A delivery above the limit ends as `overloaded` (503), if possible before its body
   * is read. Default: no limit. Errors: `invalid_option`.
   */
  readonly maxConcurrent?: number | undefined;

  /**
   * Called before an event is parked, because its handler threw `PermanentError`, `maxRuns` is exceeded, or `resume`
   * was called with `giveUp`. Runs under the lease and within `handlerTimeoutMs`. When it resolves, the response is 200
   * and the record is parked; if it throws, the event counts as failed, and `onHandlerError` receives that error. Store
   * `serializeDelivery(context.delivery)`, so that `receiver.resume()` can run it again. Errors: `invalid_option`.
   */
  readonly onParked?: ((error: unknown, context: DeliveryContext) => unknown) | undefined;

  /**
   * Wraps each handler, under its lease and after its schema, for example to add spans, logging context or rate limits.
   * Call `run`, which calls the handler, and return or await its result. The run succeeds only if both `around` and the
   * handler succeed, and ends when both have settled. An error of either counts as the handler's; if both fail, the
   * error of `around` counts. If `around` ends before it calls `run`, the outcome is `handler_failed`, and a later call
   * of `run` does nothing and returns undefined. Each further call returns or throws the result of the first call.
   * `resume` applies `around` too; storing a delivery in a queue does not. Default: handlers are called directly.
   * Errors: `invalid_option`.
   */
  readonly around?: ((run: () => unknown, context: DeliveryContext) => unknown) | undefined;

  /**
   * The reaction to an unavailable store. `"refuse"` (default): respond with 503, so that the sender tries
   * again. `"process"`: run the handler although another run may be in progress, with `context.dedupe ===
   * "unverified"`, without `run` and `fence`; `maxRuns` does not apply. Errors: `invalid_option`.
   */
  readonly onStoreError?: "refuse" | "process" | undefined;

  /**
   * Receives one flat report per response, and one more for a run that outlives its response.
   * Errors: `invalid_option`.
   */
  readonly observe?: ((report: DeliveryReport) => unknown) | undefined;

  /**
   * Receives the error of a failed handler or `onParked`, and of an event that is parked without `onParked`. Default:
   * writes a line to `logger` with the error's stack and causes, control characters escaped. Errors: `invalid_option`.
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
   * Receives a line for each condition that an operator should know about, with a text and fields: why a request was
   * refused, what failed, which types have no handler. Duplicates are not logged. `onHandlerError`, `onInternalError`
   * and `log` take precedence. Default `console`. Errors: `invalid_option`.
   */
  readonly logger?: Logger | undefined;

  /**
   * Whether each processed delivery is logged. Default: on Node, Bun and Deno, if stdout is a terminal and
   * `NODE_ENV` is not `production`; otherwise false. Errors: `invalid_option`.
   */
  readonly logProcessed?: boolean | undefined;

  /** The time source, for tests. Default: the system's clock. Errors: `invalid_option`. */
  readonly clock?: Clock | undefined;
}

interface EventOptions<Events> {
  /**
   * Schemas by event type: zod, valibot, arktype or any other Standard Schema, sync or async. A schema runs after the
   * claim and within `handlerTimeoutMs`; the handler receives its output. An event that fails its schema ends as
   * `event_invalid` (500), and the sender's next attempt is validated again. Events of types without a schema are
   * passed unchanged. Default: none. Errors: `invalid_option`.
   */
  readonly events?: Events | undefined;
}

/** The options of a receiver, for code that declares them outside the call of `createReceiver`. */
export interface ReceiverOptions<Events extends EventSchemas = {}>
  extends CommonOptions, EventOptions<Events> {
  /**
   * Handlers by exact type, `"prefix.*"` or `"*"`, at least one. With `events`, keys must match its types; add
   * a type with a schema or with `typed<MyEvent>()`: `events: { ...emailEvents, "email.bounced":
   * typed<Bounced>() }`. Errors: `invalid_handler`.
   */
  readonly on: Handlers<Events>;
}

/**
 * The options as `createReceiver` infers them: the handler of a pattern receives only the event types that no more
 * specific key handles.
 */
export interface InferredOptions<Events extends EventSchemas, Keys extends string>
  extends CommonOptions, EventOptions<Events> {
  /**
   * Handlers by exact type, `"prefix.*"` or `"*"`, at least one. With `events`, keys must match its types; add
   * a type with a schema or with `typed<MyEvent>()`: `events: { ...emailEvents, "email.bounced":
   * typed<Bounced>() }`. Errors: `invalid_handler`.
   */
  readonly on: {
    readonly [Key in Keys]?: Handler<EventFor<Events, Key, Keys>> | undefined;
  };
}

/**
 * Makes `createReceiver({ dedupeBy: "event" })` a type error if both `eventId` and a scheme, which may have one, are
 * absent.
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
   * Parks the event for this reason instead of running it, for example because its last run left no result. The outcome
   * is `in_flight` until that run's lease ends, so that the run cannot commit a `transaction` afterwards. Default: the
   * event runs.
   */
  readonly giveUp?: string | undefined;
}
