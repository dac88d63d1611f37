/** Options of ioredis. */
export interface ConnectionOptions {
  readonly maxRetriesPerRequest: number | null;
  readonly enableOfflineQueue?: boolean;
  /** In milliseconds. */
  readonly socketTimeout: number;
  readonly reconnectOnError: (error: Error) => 2 | false;
}

/** Reconnects to an address that leads to another primary by now, and repeats the command. */
const reconnectOnError = ({ message }: Error): 2 | false =>
  /(?:^|-)READONLY /.test(message) ? 2 : false;

/**
 * The options of ioredis for the connection of a `Queue`: requests do not wait for a Redis that is lost, and a connection
 * that dies silently is left after 5 s.
 *
 * @example
 * ```ts
 * import { queueConnection } from "@svc-webhooks/bullmq";
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
 * The options of ioredis for the connection of a `Worker`: it waits for a Redis that is lost. A connection that dies
 * silently is left after 12 s: BullMQ waits for up to 10 s for the next job, and receives nothing meanwhile. Once the worker
 * has run a job, the inbox replaces its connections within 10 s.
 */
export const workerConnection: ConnectionOptions = {
  maxRetriesPerRequest: null,
  socketTimeout: 12_000,
  reconnectOnError,
};
