import type { AnyEvent } from "@svc-webhooks/core";
import type { InboxEntry, RetryOptions } from "@svc-webhooks/core/inbox";

export interface PgBossInboxOptions {
  /**
   * The name of the queue: letters, digits, `_`, `-`, `.` and `/`, not ending in `.dead`. Default `"webhooks"`. Dead
   * letters go to the queue `<queue>.dead`. Errors: `invalid_option`.
   */
  readonly queue?: string | undefined;
  /**
   * Returns the key of an event, 1 to 500 characters without NUL or lone surrogates, such as the id of an order, or
   * undefined for no key. For any other result, the delivery is not stored, and the response is 503. Events of the same
   * key run one at a time, in the order in which they were accepted; an event without a key never waits for another
   * event. pg-boss cannot add an order to an existing queue or remove it, so choose another `queue` when you add or
   * remove the option. Default: no order.
   */
  readonly partitionBy?: ((event: AnyEvent) => string | undefined) | undefined;
  /**
   * With `partitionBy`: whether the later events of a key run after an event has become a dead letter (`"continue"`),
   * or wait until the letter is retried or discarded (`"hold"`). Default `"continue"`. Errors: `invalid_option`.
   */
  readonly afterDead?: "continue" | "hold" | undefined;
  /**
   * The number of attempts for an event and the delays between them. Default: 20 attempts in one to two hours.
   * `firstMs` is at least 1,000. After a worker was killed, pg-boss itself chooses the delay, in whole seconds. It is
   * about twice as long as the usual one, but at most `mostMs`.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * The largest `maxRunMs` of the receivers, in milliseconds, 1,000 … 86,340,000. pg-boss abandons a run one minute
   * after this time. Default 900,000 (15 min), as in receivers. Errors: `invalid_option`.
   */
  readonly maxRunMs?: number | undefined;
  /** The database schema that `boss` uses. Default `"pgboss"`. Errors: `invalid_option`. */
  readonly schema?: string | undefined;
  /** Called after `admin.discard` has removed a dead letter, for an audit log. Errors: `invalid_option`. */
  readonly onDiscard?: ((entry: InboxEntry, reason: string) => unknown) | undefined;
}
