export { bullmqInbox } from "./bullmq-inbox.js";
export type { BullmqInbox } from "./bullmq-inbox.js";
export type { BullmqInboxOptions, RetryOptions } from "./options.js";
export type { Processor } from "./processor.js";
export type { BullJob, BullJobOptions, BullState, QueueLike } from "./queue-like.js";
