import { extension, pages } from "./lib/page-link.js";

/**
 * The key of the property that marks the errors of all `@svc-webhooks` packages. Registered globally, because ESM
 * and CommonJS may each load a copy of a package.
 */
const brand = Symbol.for("svc-webhooks.error");

/**
 * The base class of all errors of these packages. Match on `code`, which is stable; the message may change. These
 * codes, among others, have no class of their own:
 * - `not_sent`: a store throws it if it did not send a call, for example because its client has no connection. The
 *   receiver then has no claim to release.
 * - `handler_failed`: a store's `complete` throws it if the work of a run failed although its handler resolved.
 * - `invalid_delivery`: `parseDelivery` throws it for a value that does not have the form that `serializeDelivery`
 *   writes.
 * - `list_incomplete`: the handler of `intake.each` throws it, alone or as the cause of a `RetryError`, if events of its
 *   list are not done.
 * - `store_timeout`: `forget` and `peek` reject with it if the store does not reply within `storeTimeouts.release`.
 * - `not_newest_first`, `unreadable_list`, `clock_behind`, `missing_body`: `reconcile` rejects a list of deliveries
 *   that it cannot compare.
 * - `invalid_job`: `runJob` reports it for the data of a job that does not have the form that an inbox writes.
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
 * Returns the code of an error of these packages, or undefined for any other value: a mail API's own
 * `{ code: "permanent_error" }`, for example, must not park an event.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { parseDelivery, PermanentError } from "svc-webhooks";
 * import { codeOf } from "svc-webhooks/adapter";
 *
 * assert.equal(codeOf(new PermanentError("no such account")), "permanent_error");
 * assert.equal(codeOf({ code: "permanent_error" }), undefined);
 *
 * try {
 *   parseDelivery("{}");
 * } catch (error) {
 *   assert.equal(codeOf(error), "invalid_delivery");
 * }
 * ```
 */
export function codeOf(error: unknown): string | undefined {
  try {
    return (Object(error) as { readonly [brand]?: string })[brand];
  } catch {
    // A proxy that throws is not an error of these packages.
    return undefined;
  }
}

/** The reason for a {@link ConfigError}. */
export type ConfigErrorCode =
  /** An option, or a member of an option, does not exist. */
  | "unknown_option"
  /** A value has the wrong type or is outside its range. */
  | "invalid_option"
  /**
   * A signing secret is not usable, for example because it is empty, duplicated, a placeholder, in quotes, surrounded
   * by white space, or not well-formed text, or because all secrets have expired.
   */
  | "invalid_secret"
  /** `on` is empty, a key has a misplaced `*`, or a handler is not a function. */
  | "invalid_handler"
  /**
   * `name` is empty, or it is absent although other processes can use the store or another receiver named `"default"`
   * uses it.
   */
  | "missing_name"
  /** `dedupeBy` is `"event"`, but neither the options nor the scheme has an `eventId`. */
  | "missing_event_id"
  /** `maxRuns` is set without `onParked`, although not every handler runs from a queue. */
  | "missing_on_parked";

/**
 * Reports invalid options or arguments in any of these packages. It is thrown by the function that receives them. While
 * a delivery is handled, it becomes an outcome, such as `misconfigured` for an invalid result of the `secret` function.
 * The message states the cause and the fix (on edge platforms, usually only which option is invalid), and links to
 * `docs/configuration-errors.md`. Neither the message nor a property ever contains a key.
 */
export class ConfigError extends WebhookError<ConfigErrorCode> {
  override readonly name = "ConfigError";
  /**
   * The name of the invalid option or argument, such as `leaseMs`, `storeTimeouts.claim`,
   * `on["email*"]`, `secret[1].key`, or `secret()` for the result of the secret function.
   */
  readonly option: string;

  /** @param text whole sentences: the cause and the fix; the constructor adds the link to the page */
  constructor(code: ConfigErrorCode, option: string, text: string) {
    super(code, `${text} ${pages}docs/configuration-errors${extension}#${code}`);
    this.option = option;
  }
}

/**
 * Thrown by a store's `transaction`, with code `transaction_lost`, if this run no longer owns the delivery: another run
 * has taken over, this run was released, the delivery is already completed, or the store has no record of it. Nothing
 * in the transaction was written. Let the handler fail with it: the sender's next attempt then receives the right
 * response.
 */
export class TransactionLostError extends WebhookError<"transaction_lost"> {
  override readonly name = "TransactionLostError";

  constructor(message: string, options?: ErrorOptions) {
    super("transaction_lost", message, options);
  }
}

/** The ways in which reading a body can fail. The delivery's outcome has the same code. */
export type BodyErrorCode = "body_too_large" | "body_unavailable" | "aborted";

/** The error that a body reader throws or rejects with. Its code becomes the code of the outcome. */
export class BodyError extends WebhookError<BodyErrorCode> {
  override readonly name = "BodyError";
  /** The cause and its fix, for the operator. Logged with `body_unavailable`; never sent. */
  readonly hint: string | undefined;

  constructor(code: BodyErrorCode, hint?: string) {
    super(code, hint ?? code);
    this.hint = hint;
  }
}
