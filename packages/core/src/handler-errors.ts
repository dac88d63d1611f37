import { explain } from "#texts";
import { ConfigError, WebhookError } from "./errors.js";

/**
 * Thrown by a handler for an event that can never succeed. Once `onParked` has resolved, the event is parked: only
 * `resume` runs it again, and the response, if not sent yet, is 200. Without `onParked`, `onHandlerError` receives the
 * error, the event is parked, and the receiver stores it nowhere. If the handler runs from a queue, the queue keeps the
 * job. Code: `permanent_error`.
 */
export class PermanentError extends WebhookError<"permanent_error"> {
  override readonly name = "PermanentError";

  constructor(message?: string, options?: ErrorOptions) {
    super("permanent_error", message, options);
  }
}

/**
 * Thrown by a handler to choose the time of the next attempt: the response is 500 with `Retry-After`. Code:
 * `retry_error`. The constructor never throws, because a handler might catch its error and treat the event as
 * permanently failed. If `retryAfterMs` is not a number, the property is NaN, `Retry-After` is 1 s, and the message is
 * that of a `ConfigError` `invalid_option`, which is also the default `cause`.
 */
export class RetryError extends WebhookError<"retry_error"> {
  override readonly name = "RetryError";
  /**
   * The time until the next attempt, in milliseconds. `Retry-After` states it in whole seconds, rounded up, 1 … 86,400.
   */
  readonly retryAfterMs: number;

  constructor(options: { readonly retryAfterMs: number } & ErrorOptions) {
    // JavaScript callers may omit the options or pass a value that is not a number.
    const value: unknown = (options as Partial<typeof options> | undefined)?.retryAfterMs;
    const retryAfterMs = typeof value === "number" ? value : NaN;
    const option = "retryAfterMs";
    const problem = Number.isNaN(retryAfterMs)
      ? new ConfigError("invalid_option", option, explain("invalid_option", option, value))
      : undefined;
    super(
      "retry_error",
      problem?.message ?? `retry after ${retryAfterMs} ms`,
      problem ? { cause: problem, ...options } : options,
    );
    this.retryAfterMs = retryAfterMs;
  }
}
