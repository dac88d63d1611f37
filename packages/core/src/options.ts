import type { Clock } from "./clock.js";
import type { EventFor, EventSchemas } from "./events.js";
import type { DeliveryContext, Handler, Handlers } from "./handler.js";
import type { DeliveryReport } from "./report.js";
import type { DeliveryStore } from "./store.js";

/** A parsed, signed body. */
export type SignedBody = Readonly<Record<string, unknown>>;

/** A signing secret: the UTF-8 bytes of the whole string, `whsec_` included, or bytes taken as they are. */
export type SecretKey = string | Uint8Array;

/** One of several secrets during a rotation. */
export interface Secret {
  /** Your name for it; in reports and `ctx.secretId`. Unique in its list. */
  readonly id: string;
  readonly key: SecretKey;
  /** From when on it no longer counts: a Date or epoch milliseconds. Default: never. */
  readonly expiresAt?: Date | number | undefined;
}

/** One key, or 1 … 10 with ids: the current one first, the ones on their way out behind it. */
export type Secrets = SecretKey | readonly Secret[];

/** Secrets, or a function that returns them. It is called for every delivery with a well-formed signature, so cache its result. */
export type SecretSource = Secrets | (() => Secrets | Promise<Secrets>);

/** Which deliveries count as the same. */
export type DedupeBy = "delivery" | "event" | "body";

/** Deadlines of single store calls, in milliseconds, 1 … 10,000. */
export interface StoreTimeouts {
  /** Default 1,500. */
  readonly claim?: number | undefined;
  /** Default 1,500. */
  readonly extend?: number | undefined;
  /** Default 1,500. */
  readonly release?: number | undefined;
  /** Default 2,000. */
  readonly complete?: number | undefined;
}

/** The options that have nothing to do with the types of events. */
export interface CommonOptions {
  /**
   * The signing secret, or several during a rotation, or a function that answers them.
   * Errors: `invalid_secret`.
   */
  readonly secret: SecretSource;

  /**
   * Names this receiver's keys in the store, 1 … 256 characters. Receivers with the same name on the
   * same store take each other's deliveries for duplicates. Default `"default"`; a store that other
   * processes or another receiver use needs one. Errors: `missing_name`, `invalid_option`.
   */
  readonly name?: string | undefined;

  /** Where claims and completions are kept. Default `memoryStore()`. Errors: `invalid_option`. */
  readonly store?: DeliveryStore | undefined;

  /**
   * `"delivery"` (default): by the unsigned delivery id. `"event"`: by type and the signed event id
   * that `eventId` finds. `"body"`: by the bytes. Errors: `invalid_option`, `missing_event_id`.
   */
  readonly dedupeBy?: DedupeBy | undefined;

  /**
   * Finds the event's type in the signed body. Assumption (the interface shows no body): the first
   * non-empty string of `type`, `event_type`, `event`. Also gets the exact bytes. Anything but a
   * non-empty string ends as `event_untyped`, a promise too; a throw as `internal_error`.
   */
  readonly eventType?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;

  /**
   * Finds the event's unique id in the signed body. No default: ids are never guessed. Also gets the
   * exact bytes, for numbers beyond 2^53 that `body` holds rounded. Needed with `dedupeBy: "event"`,
   * where finding none ends as `misconfigured`; so does anything but a string, a promise too.
   */
  readonly eventId?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;

  /** The largest body that is read, in bytes, 1 … 104,857,600 (100 MiB). Default 1,048,576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;

  /**
   * How long a body may take to arrive, in milliseconds from the call of its reader, 1 … 300,000;
   * then the delivery ends as `body_timeout`. Default 10,000.
   */
  readonly bodyTimeoutMs?: number | undefined;

  /**
   * How long the sender waits for a handler before it gets `handler_timeout`, in milliseconds,
   * 1 … `leaseMs` − 5,000. The handler goes on under its lease. Default 10,000, or the upper bound.
   */
  readonly handlerTimeoutMs?: number | undefined;

  /**
   * How long a claim outlives its process, in milliseconds, 10,000 … 3,600,000. Renewed every third
   * of it while the handler runs. Default 30,000.
   */
  readonly leaseMs?: number | undefined;

  /** How long one run is kept leased at most, in milliseconds, `leaseMs` … 2^31 − 1. Default 900,000 (15 min), or `leaseMs`. */
  readonly maxRunMs?: number | undefined;

  /**
   * How long a record is remembered, in milliseconds, `maxRunMs + leaseMs` … 31,536,000,000 (365 d).
   * Must be longer than the sender retries and redelivers. Default 604,800,000 (7 d).
   */
  readonly retainMs?: number | undefined;

  readonly storeTimeouts?: StoreTimeouts | undefined;

  /**
   * How many runs an event gets, 1 … 1,000,000: a claim beyond that is parked without running the
   * handler. Ends crash loops, where nobody is left to release anything. Needs `onParked`. Default:
   * no end. Errors: `invalid_option`, `missing_on_parked`.
   */
  readonly maxRuns?: number | undefined;

  /**
   * Takes over an event that will not be tried again: its handler threw `PermanentError`, or
   * `maxRuns` is used up. Runs under the lease and the handler's time. Once it has resolved the
   * sender gets 200; if it throws, the event counts as failed. Store
   * `serializeDelivery(context.delivery)`: `receiver.resume()` runs it again.
   */
  readonly onParked?: ((error: unknown, context: DeliveryContext) => unknown) | undefined;

  /**
   * When the store cannot be asked: `"refuse"` (default) answers 503 and the sender comes back;
   * `"process"` runs the handler although another run may be under way
   * (`context.dedupe === "unverified"`, `run` and `fence` unknown, `maxRuns` not applied).
   */
  readonly onStoreError?: "refuse" | "process" | undefined;

  /** Gets one flat record per answer, and one more for a run that outlived its answer. */
  readonly observe?: ((report: DeliveryReport) => unknown) | undefined;

  /** Gets what a handler threw. Default: `console.error` with the delivery id, the type and the stack, control characters escaped. */
  readonly onHandlerError?: ((error: unknown, context: DeliveryContext) => unknown) | undefined;

  /** Gets what `observe`, a hook or the store threw where it changes no outcome. Default: one line through `log`. */
  readonly onInternalError?: ((error: unknown) => unknown) | undefined;

  /**
   * Prints a line about something that only the operator can fix, at most once a minute for the same
   * cause; the next line counts what was left out. Default `console.error`.
   */
  readonly log?: ((line: string) => void) | undefined;

  /** For tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

interface EventOptions<Events> {
  /**
   * Schemas by event type: zod, valibot, arktype or any other Standard Schema, sync or async. Run
   * after the claim, under the handler's time; the handler gets the output. A refusal ends as
   * `event_invalid`, and the sender's next attempt tries again. Types without a schema are passed as
   * they are. Errors: `invalid_option`.
   */
  readonly events?: Events | undefined;
}

/** The options of a receiver, as a type to write down. */
export interface ReceiverOptions<Events extends EventSchemas = {}>
  extends CommonOptions, EventOptions<Events> {
  /** What to do with which event. At least one handler. Errors: `invalid_handler`. */
  readonly on: Handlers<Events>;
}

/** The same as `createReceiver` infers it: a pattern's handler gets what the keys beside it leave over. */
export interface InferredOptions<Events extends EventSchemas, Keys extends string>
  extends CommonOptions, EventOptions<Events> {
  /** What to do with which event. At least one handler. Errors: `invalid_handler`. */
  readonly on: {
    readonly [Key in Keys]?: Handler<EventFor<Events, Key, Keys>> | undefined;
  };
}

/** How one delivery is received. */
export interface ReceiveOptions {
  /** Called with the whole run when it is claimed, unless it ends at once, and with what may be left to do for the store after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}
