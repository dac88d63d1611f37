export { bullmqInbox } from "./bullmq-inbox.js";
export { queueConnection, workerConnection } from "./connections.js";
export type { ConnectionOptions } from "./connections.js";
export type { BullmqInbox } from "./bullmq-inbox.js";
export type { BullmqInboxOptions } from "./options.js";
export type { RetryOptions } from "@svc-webhooks/core/inbox";
export type { Processor } from "./processor.js";
export type { BullJob, BullJobOptions, BullState, QueueLike } from "./queue-like.js";
