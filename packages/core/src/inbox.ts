export type {
  InboxAdmin,
  InboxEntry,
  InboxQuery,
  InboxState,
  InboxStats,
  ReleaseOptions,
} from "./inbox/admin.js";
export { inboxFor } from "./inbox/inbox-for.js";
export type { Enqueue, EnqueueCall, Inbox } from "./inbox/inbox-for.js";
export type { InboxJob } from "./inbox/job.js";
export { runJob } from "./inbox/run-job.js";
export type { RunJobOptions, Verdict } from "./inbox/run-job.js";
