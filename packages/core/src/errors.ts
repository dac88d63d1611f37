/** Why a {@link ReceiverConfigError} was thrown. Stable: match on this, not on the text. */
export type ReceiverConfigErrorCode =
  /** An option, or a member of one, that does not exist. */
  | "unknown_option"
  /** A value of the wrong type or out of its range. */
  | "invalid_option"
  /** A signing secret that is empty, padded, doubled or not UTF-8. */
  | "invalid_secret"
  /** `on` is empty, a key has a misplaced `*`, or a handler is no function. */
  | "invalid_handler"
  /** A shared store without an explicit `name`. */
  | "missing_name"
  /** `dedupeBy: "event"` without `eventId`. */
  | "missing_event_id"
  /** `maxRuns` without `onParked`. */
  | "missing_on_parked";

/**
 * Options that cannot work. Thrown where they are given, never while a delivery is handled.
 * Neither the text nor a property ever holds a key.
 */
export class ReceiverConfigError extends Error {
  override readonly name = "ReceiverConfigError";
  readonly code: ReceiverConfigErrorCode;
  /** The option at fault, as a path: `"storeTimeouts.claim"`. */
  readonly option: string;

  constructor(code: ReceiverConfigErrorCode, option: string, mustBe: string) {
    super(`${option} must be ${mustBe}`);
    this.code = code;
    this.option = option;
  }
}

/** How reading a body can fail; each is the outcome code of the delivery as well. */
export type BodyErrorCode = "body_too_large" | "body_unavailable" | "aborted";

/**
 * What a body reader rejects with, so that the delivery ends with the right outcome.
 * The core matches by `code`: two loaded copies of this package understand each other.
 */
export class BodyError extends Error {
  override readonly name = "BodyError";
  readonly code: BodyErrorCode;
  /** For the operator: what consumed the bytes and how to mend it. Printed, never answered. */
  readonly hint: string | undefined;

  constructor(code: BodyErrorCode, hint?: string) {
    super(hint ?? code);
    this.code = code;
    this.hint = hint;
  }
}

/**
 * Thrown by a handler for an event that can never succeed: the record is parked and the sender gets
 * 200, after `onParked` has taken the event over. Without `onParked`, `onHandlerError` gets the
 * error and nothing else remembers the event.
 */
export class PermanentError extends Error {
  override readonly name = "PermanentError";
  readonly code = "permanent_error";
}

/** Thrown by a handler that wants its next attempt at a certain time: 500 with `Retry-After`. */
export class RetryError extends Error {
  override readonly name = "RetryError";
  readonly code = "retry_error";
  /** From now, in milliseconds. Sent as whole seconds, rounded up, 1 … 86,400. */
  readonly retryAfterMs: number;

  constructor({ retryAfterMs, ...options }: { readonly retryAfterMs: number } & ErrorOptions) {
    super(`retry after ${retryAfterMs} ms`, options);
    this.retryAfterMs = retryAfterMs;
  }
}
