export type {
  InboxAdmin,
  InboxEntry,
  InboxQuery,
  InboxState,
  InboxStats,
  ReleaseOptions,
} from "./inbox/admin.js";
export { inboxFor } from "./inbox/inbox-for.js";
export type { Enqueue, EnqueueCall, Inbox, InboxForOptions } from "./inbox/inbox-for.js";
export { traceOf } from "./inbox/job.js";
export type { InboxJob } from "./inbox/job.js";
export type { EnqueueContext } from "./setup/queued-handler.js";
export { runJob } from "./inbox/run-job.js";
export type { RunJobOptions, Verdict } from "./inbox/run-job.js";
export { errorText } from "./inbox/error-text.js";
export { oncePerMinute } from "./inbox/once-per-minute.js";
export { assertWhole, longestRetryMs, retryDelays } from "./inbox/retry.js";
export type { RetryDelays, RetryLimits, RetryOptions } from "./inbox/retry.js";
