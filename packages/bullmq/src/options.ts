import type { InboxEntry, RetryOptions } from "@svc-webhooks/core/inbox";

export interface BullmqInboxOptions {
  /** The number of attempts for an event and the delays between them. Default: 20 attempts in one to two hours. */
  readonly retry?: RetryOptions | undefined;
  /** Called after `admin.discard` has removed a dead letter, for an audit log. Errors: `invalid_option`. */
  readonly onDiscard?: ((entry: InboxEntry, reason: string) => unknown) | undefined;
}
