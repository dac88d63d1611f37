export { pgBossInbox } from "./pg-boss-inbox.js";
export type { PgBossInbox } from "./pg-boss-inbox.js";
export type { PgBossInboxOptions } from "./options.js";
export type { RetryOptions } from "@svc-webhooks/core/inbox";
export type { InboxWorker, WorkOptions } from "./inbox-worker.js";
export type {
  BossDatabase,
  BossInstance,
  BossJob,
  BossJobAttempt,
  BossJobRecord,
  BossJobResult,
  BossQueue,
  BossQueueSettings,
  BossWorkOptions,
  PgBossLike,
} from "./pg-boss-like.js";
