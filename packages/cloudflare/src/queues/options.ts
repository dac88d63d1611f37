import type { RetryOptions } from "@svc-webhooks/core/inbox";
import type { QueueLike } from "./queue-like.js";

export interface QueuesInboxOptions {
  /**
   * The attempts of an event. Default: 20, in one to two hours. `limit` is at most 100, and delays at most 43,200,000 ms,
   * rounded up to seconds. Set `max_retries` of the consumer in wrangler.jsonc to 100: Cloudflare removes a message after
   * this number of retries, whatever `limit` is.
   */
  readonly retry?: RetryOptions | undefined;
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
