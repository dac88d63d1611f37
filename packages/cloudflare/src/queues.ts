export type { DeadLetter } from "./queues/dead-letter.js";
export type { QueuesConsumerOptions, QueuesInboxOptions } from "./queues/options.js";
export type { RetryOptions } from "@svc-webhooks/core/inbox";
export type { QueueBatch, QueueLike, QueueMessage } from "./queues/queue-like.js";
export { queuesInbox } from "./queues/queues-inbox.js";
export type { QueuesConsumer, QueuesInbox } from "./queues/queues-inbox.js";
