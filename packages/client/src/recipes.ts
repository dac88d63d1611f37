import type { SvcError } from "./errors.js";
import type { RequestOptions } from "./options.js";
import type {
  AcceptedSend,
  EmailRequest,
  SendState,
  SendStatus,
  WebhookEvent,
} from "./resources.js";

export interface WaitOptions extends RequestOptions {
  /**
   * The status to wait for, a list of statuses, or a function that returns whether the wait is over. A status in the
   * send's history counts too. Default: `delivered`, `bounced` or `failed`, which are final (assumption A-01).
   */
  readonly until?:
    | SendState
    | readonly SendState[]
    | ((send: SendStatus) => boolean | Promise<boolean>)
    | undefined;
  /** The time limit of the whole wait, not of each request, in milliseconds, 1 to 2^31 − 1. Default 60,000. */
  readonly deadlineMs?: number | undefined;
}

/** The numbers of failed deliveries that have been handled so far, by result. */
export interface BulkRedelivery {
  /** The number of accepted requests. With `dryRun`, the number of requests that would be made. */
  readonly redelivered: number;
  /**
   * The number of deliveries that cannot be redelivered (409), for example because another attempt is running.
   */
  readonly skipped: number;
  /** The number of requests that failed for another reason. */
  readonly failed: number;
}

export interface BulkRedeliveryProgress extends BulkRedelivery {
  /** The delivery that was handled last. */
  readonly event: WebhookEvent;
  /** The reason why the request failed. Absent if it succeeded. */
  readonly error?: SvcError;
}

/** The options of `redeliverFailed`. `deadlineMs` limits each request. */
export interface BulkRedeliveryOptions extends RequestOptions {
  readonly webhook_endpoint_id: string;
  /** Only counts the deliveries, without redelivering any. Default false. */
  readonly dryRun?: boolean | undefined;
  /** The maximum number of failed deliveries to handle, 0 or more. Default: no maximum. */
  readonly max?: number | undefined;
  /**
   * Called and awaited after each failed delivery has been handled. If it throws, the work ends, and `redeliverFailed`
   * rejects with the error.
   */
  readonly onProgress?: ((progress: BulkRedeliveryProgress) => void | Promise<void>) | undefined;
}

/** The response to an accepted email, with the idempotency key of the request. */
export type SentEmail = AcceptedSend & { readonly idempotencyKey: string };

/** An email for `sendAll`. Sending it again with the same `idempotencyKey` has no further effect. */
export type KeyedEmail = EmailRequest & { readonly idempotencyKey?: string | undefined };

/** The result of one email of `sendAll`. An error contains the email's idempotency key. */
export type EmailResult = { readonly ok: SentEmail } | { readonly error: SvcError };

export interface SendAllProgress {
  /** The number of emails that have a result. */
  readonly done: number;
  readonly total: number;
  /** The index of the email that was handled last. */
  readonly index: number;
  readonly result: EmailResult;
}

/** The options of `sendAll`. `deadlineMs` limits each email, including its retries and pauses. */
export interface SendAllOptions extends RequestOptions {
  /** The number of emails that are sent at the same time, 1 to 100. Default 10. */
  readonly concurrency?: number | undefined;
  /** Called and awaited after each email. Its errors are ignored, so that no result is lost. */
  readonly onProgress?: ((progress: SendAllProgress) => void | Promise<void>) | undefined;
}
