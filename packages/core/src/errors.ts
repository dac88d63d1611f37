/** Marks the errors of all `@svc-webhooks` packages, also across two loaded copies of one (ESM and CommonJS). */
const brand = Symbol.for("svc-webhooks.error");

/**
 * An error of these packages, and the base of those that have more to report. Match on `code`: it is
 * stable, the text is not. Codes without a class of their own:
 * - `not_sent`: thrown by a store for a call that has not left this process, such as one of a client
 *   without a connection. The receiver then has no claim to release.
 * - `invalid_delivery`: thrown by `parseDelivery` for text that `serializeDelivery` did not write.
 */
export class WebhookError<Code extends string = string> extends Error {
  override readonly name: string = "WebhookError";
  readonly code: Code;

  constructor(code: Code, message?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, brand, { value: code });
  }
}

/**
 * The code of an error of ours; nothing of any other: a mail API's own `{ code: "permanent_error" }`
 * must not park an event.
 */
export const codeOf = (error: unknown): string | undefined =>
  (Object(error) as { readonly [brand]?: string })[brand];

/** Why a {@link ReceiverConfigError} was thrown. */
export type ReceiverConfigErrorCode =
  /** An option, or a member of one, that does not exist. */
  | "unknown_option"
  /** A value of the wrong type or out of its range. */
  | "invalid_option"
  /** A signing secret that is empty, padded, quoted, doubled or not UTF-8. */
  | "invalid_secret"
  /** `on` is empty, a key has a misplaced `*`, or a handler is not a function. */
  | "invalid_handler"
  /** A shared store, or a memory store that another receiver uses, without an explicit `name`. */
  | "missing_name"
  /** `dedupeBy: "event"` without `eventId`. */
  | "missing_event_id"
  /** `maxRuns` without `onParked`. */
  | "missing_on_parked";

/**
 * Options that cannot work. Thrown where they are given, never while a delivery is handled.
 * Neither the text nor a property ever holds a key.
 */
export class ReceiverConfigError extends WebhookError<ReceiverConfigErrorCode> {
  override readonly name = "ReceiverConfigError";
  /** The option at fault, as a path: `"storeTimeouts.claim"`. */
  readonly option: string;

  constructor(code: ReceiverConfigErrorCode, option: string, text: string) {
    super(code, text);
    this.option = option;
  }
}

/** How reading a body can fail; each is the outcome code of the delivery as well. */
export type BodyErrorCode = "body_too_large" | "body_unavailable" | "aborted";

/** What a body reader rejects with, so that the delivery ends with the right outcome. */
export class BodyError extends WebhookError<BodyErrorCode> {
  override readonly name = "BodyError";
  /** For the operator: what consumed the bytes and how to fix it. Printed, never sent. */
  readonly hint: string | undefined;

  constructor(code: BodyErrorCode, hint?: string) {
    super(code, hint ?? code);
    this.hint = hint;
  }
}

/**
 * Thrown by a handler for an event that can never succeed: the record is parked and the sender gets
 * 200, after `onParked` has taken the event over. Without `onParked`, `onHandlerError` gets the
 * error and nothing else remembers the event. Code: `permanent_error`.
 */
export class PermanentError extends WebhookError<"permanent_error"> {
  override readonly name = "PermanentError";

  constructor(message?: string, options?: ErrorOptions) {
    super("permanent_error", message, options);
  }
}

/** Thrown by a handler that wants its next attempt at a certain time: 500 with `Retry-After`. Code: `retry_error`. */
export class RetryError extends WebhookError<"retry_error"> {
  override readonly name = "RetryError";
  /** From now, in milliseconds. Sent as whole seconds, rounded up, 1 … 86,400. */
  readonly retryAfterMs: number;

  constructor({ retryAfterMs, ...options }: { readonly retryAfterMs: number } & ErrorOptions) {
    super("retry_error", `retry after ${retryAfterMs} ms`, options);
    this.retryAfterMs = retryAfterMs;
  }
}
