import type { QueueLike } from "./queue-like.js";

export interface QueuesInboxOptions {
  /** The attempts of an event. Default: 20, in one to two hours. */
  readonly retry?: RetryOptions | undefined;
}

/**
 * The attempts of an event, and the delays between them, which double from `firstMs` to `mostMs`, with jitter.
 * Cloudflare delays messages by whole seconds, so each delay is rounded up.
 */
export interface RetryOptions {
  /**
   * The number of attempts before an event becomes a dead letter, 1 … 100. Default 20. Set `max_retries` of the
   * consumer in wrangler.jsonc to 100: Cloudflare removes a message after this number of retries, whatever this limit is.
   */
  readonly limit?: number | undefined;
  /** The longest delay after the first attempt, in milliseconds, 1 … 43,200,000. Default 1,000. */
  readonly firstMs?: number | undefined;
  /** The longest delay, in milliseconds, `firstMs` … 43,200,000. Default 600,000 (10 min). */
  readonly mostMs?: number | undefined;
}

export interface QueuesConsumerOptions {
  /** Returns the binding of the queue of dead letters. Called for each dead letter. Errors: `invalid_option`. */
  readonly dead: () => QueueLike;
  /**
   * How long a batch waits for other runs' leases and for the store, in milliseconds, 0 … 600,000. Default 300,000.
   * The message of a run that still waits then is retried; Cloudflare counts this as an attempt, but the wait alone does not make the
   * message a dead letter. Cloudflare ends a consumer after 15 minutes, so leave time for the handlers. Errors:
   * `invalid_option`.
   */
  readonly waitMs?: number | undefined;
  /** Receives one line for each dead letter that its queue did not store. Default: the console. Errors: `invalid_option`. */
  readonly logger?: { error(text: string): unknown } | undefined;
}
