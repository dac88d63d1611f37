export type {
  InboxAdmin,
  InboxEntry,
  InboxQuery,
  InboxState,
  InboxStats,
  ReleaseOptions,
} from "./inbox/admin.js";
export { defineInbox } from "./inbox/define-inbox.js";
export type { Enqueue, EnqueueCall, Inbox, DefineInboxOptions } from "./inbox/define-inbox.js";
export { traceOf } from "./inbox/job.js";
export type { InboxJob } from "./inbox/job.js";
export type { EnqueueContext } from "./setup/queued-handler.js";
export { runJob } from "./inbox/run-job.js";
export type { RunJobOptions, Verdict } from "./inbox/run-job.js";
export { errorText } from "./inbox/error-text.js";
export { oncePerMinute } from "./inbox/once-per-minute.js";
export { assertWhole, longestRetryMs, retryDelays } from "./inbox/retry.js";
export type { RetryDelays, RetryLimits, RetryOptions } from "./inbox/retry.js";
