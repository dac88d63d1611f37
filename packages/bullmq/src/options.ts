import type { InboxEntry } from "@svc-webhooks/core/inbox";

export interface BullmqInboxOptions {
  /** The attempts of an event. Default: 20, in one to two hours. */
  readonly retry?: RetryOptions | undefined;
  /** Called after `admin.discard` has removed a dead letter, for an audit log. Errors: `invalid_option`. */
  readonly onDiscard?: ((entry: InboxEntry, reason: string) => unknown) | undefined;
}

/** The attempts of an event, and the delays between them, which double from `firstMs` to `mostMs`, with jitter. */
export interface RetryOptions {
  /** The number of attempts before an event becomes a dead letter, 1 … 1,000. Default 20. */
  readonly limit?: number | undefined;
  /** The longest delay after the first attempt, in milliseconds, 1 … 86,400,000. Default 1,000. */
  readonly firstMs?: number | undefined;
  /** The longest delay, in milliseconds, `firstMs` … 86,400,000. Default 600,000 (10 min). */
  readonly mostMs?: number | undefined;
}
