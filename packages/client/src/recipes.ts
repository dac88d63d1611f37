import type { SvcError } from "./errors.js";
import type { RequestOptions } from "./options.js";
import type { SendState, SendStatus, WebhookEvent } from "./resources.js";

export interface WaitOptions extends RequestOptions {
  /**
   * The status to wait for, several of them, or a function that returns whether it is reached. A status that
   * is in the send's history counts too. Default: `delivered`, `bounced` or `failed`, which nothing follows
   * (A-01).
   */
  readonly until?:
    | SendState
    | readonly SendState[]
    | ((send: SendStatus) => boolean | Promise<boolean>)
    | undefined;
  /** Milliseconds for the whole wait, not for each request: 1 to 2^31 − 1. Default 60,000. */
  readonly deadlineMs?: number | undefined;
}

/** The failed deliveries that were handled so far, by their results. */
export interface BulkRedelivery {
  /** Requests that were accepted; with `dryRun` those that would be made. */
  readonly redelivered: number;
  /** Deliveries that cannot be redelivered (409): another attempt is running, or has succeeded. */
  readonly skipped: number;
  /** Requests that failed otherwise. */
  readonly failed: number;
}

export interface BulkRedeliveryProgress extends BulkRedelivery {
  /** The delivery that was handled last. */
  readonly event: WebhookEvent;
  /** Why its request failed. */
  readonly error?: SvcError;
}

/** `deadlineMs` is that of each request. */
export interface BulkRedeliveryOptions extends RequestOptions {
  readonly webhook_endpoint_id: string;
  /** Counts, and changes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Most failed deliveries to handle, 0 or more. Default: all. */
  readonly max?: number | undefined;
  /** Called and awaited after each failed delivery of the list. What it throws ends the work. */
  readonly onProgress?: ((progress: BulkRedeliveryProgress) => void | Promise<void>) | undefined;
}
