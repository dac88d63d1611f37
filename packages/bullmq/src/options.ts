import type { InboxEntry, RetryOptions } from "@svc-webhooks/core/inbox";

export interface BullmqInboxOptions {
  /** The attempts of an event. Default: 20, in one to two hours. */
  readonly retry?: RetryOptions | undefined;
  /** Called after `admin.discard` has removed a dead letter, for an audit log. Errors: `invalid_option`. */
  readonly onDiscard?: ((entry: InboxEntry, reason: string) => unknown) | undefined;
}
