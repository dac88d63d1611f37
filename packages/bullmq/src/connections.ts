import { isReadOnly } from "./queue/connection.js";

/** The ioredis options of {@link queueConnection} and {@link workerConnection}. */
export interface ConnectionOptions {
  readonly maxRetriesPerRequest: number | null;
  readonly enableOfflineQueue?: boolean;
  /** How long ioredis waits for data before it drops the connection, in milliseconds. */
  readonly socketTimeout: number;
  readonly reconnectOnError: (error: Error) => 2 | false;
}

/** Reconnects and repeats the command after `READONLY`, because the address may lead to a new primary by now. */
const reconnectOnError = (error: Error): 2 | false => (isReadOnly(error) ? 2 : false);

/**
 * The ioredis options for the connection of a `Queue`: commands fail while Redis is unreachable. After 5 s, ioredis
 * replaces a connection that has died silently.
 *
 * @example
 * ```ts
 * import { queueConnection } from "svc-webhooks/bullmq";
 * import { Queue } from "bullmq";
 *
 * const url = process.env.REDIS_URL ?? "redis://localhost:6379";
 * export const queue = new Queue("mail", { connection: { url, ...queueConnection } });
 * ```
 */
export const queueConnection: ConnectionOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  socketTimeout: 5_000,
  reconnectOnError,
};

/**
 * The ioredis options for the connection of a `Worker`: commands wait until Redis is reachable again. ioredis replaces
 * a connection that has received nothing for 12 s, which is longer than the 10 s for which BullMQ waits for the next
 * job without receiving data. Once the worker has run a job, the inbox replaces dead connections within 10 s.
 */
export const workerConnection: ConnectionOptions = {
  maxRetriesPerRequest: null,
  socketTimeout: 12_000,
  reconnectOnError,
};
