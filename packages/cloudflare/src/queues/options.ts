import type { RetryOptions } from "@svc-webhooks/core/inbox";
import type { QueueLike } from "./queue-like.js";

export interface QueuesInboxOptions {
  /**
   * The number of attempts for an event and the delays between them. Default: 20 attempts in one to two hours. `limit`
   * may be at most 100, and delays at most 43,200,000 ms, rounded up to seconds. Set the consumer's `max_retries` in
   * wrangler.jsonc to 100: Cloudflare removes a message after that many retries, whatever `limit` is.
   */
  readonly retry?: RetryOptions | undefined;
}

export interface QueuesConsumerOptions {
  /** Returns the binding of the dead-letter queue. Called for each dead letter. Errors: `invalid_option`. */
  readonly dead: () => QueueLike;
  /**
   * How long a batch waits for other runs' leases and for the store, in milliseconds, 0 … 600,000. Default 300,000. If
   * a run is still waiting then, its message is retried. Cloudflare counts this as an attempt, but waiting alone does
   * not make a message a dead letter. Cloudflare ends a consumer after 15 minutes, so leave time for the handlers.
   * Errors: `invalid_option`.
   */
  readonly waitMs?: number | undefined;
  /** Receives a line for each dead letter that could not be stored. Default: the console. Errors: `invalid_option`. */
  readonly logger?: { error(text: string): unknown } | undefined;
}
