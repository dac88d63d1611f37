import type { Receiver } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { assertWhole, defineInbox, retryDelays, type Inbox } from "@svc-webhooks/core/inbox";
import { consume, longestDelayMs } from "./consumer.js";
import { enqueueIn, maxBodyBytes } from "./enqueue.js";
import type { QueuesConsumerOptions, QueuesInboxOptions } from "./options.js";
import type { QueueBatch, QueueLike } from "./queue-like.js";

/** The `queue` handler of a Worker. */
export type QueuesConsumer = (batch: QueueBatch) => Promise<void>;

/** The result of {@link queuesInbox}. */
export interface QueuesInbox extends Inbox {
  /**
   * The largest body that fits into a message together with headers of up to 4,500 bytes: 90,000 bytes. Pass it to the
   * receiver: `createReceiver` throws `invalid_option` if its `maxBodyBytes` is larger, and the default is larger.
   */
  readonly maxBodyBytes: number;
  /**
   * Returns a function that runs the jobs of a batch concurrently. It acknowledges each message that is done, retries
   * each one that failed, and sends dead letters, as {@link DeadLetter}, to the queue that `dead` returns. A dead
   * message is acknowledged only once its dead letter is stored. `receiver` needs a store that all isolates share.
   *
   * @throws ConfigError `invalid_option`, `unknown_option`
   */
  consumer(receiver: Pick<Receiver, "resume">, options: QueuesConsumerOptions): QueuesConsumer;
}

/**
 * Stores deliveries in a queue of Cloudflare Queues, and runs their handlers in its consumer. `queue` returns the
 * binding of the queue; it is called for each delivery that is stored.
 *
 * @throws ConfigError `invalid_option` if `queue` is not a function, or an option is invalid; `unknown_option`
 *
 * @example
 * ```ts
 * import {
 *   DeliveryRecords,
 *   durableObjectStore,
 *   type DeliveryRecordsNamespace,
 * } from "svc-webhooks/cloudflare";
 * import { queuesInbox, type QueueBatch, type QueueLike } from "svc-webhooks/cloudflare/queues";
 * import { createReceiver } from "svc-webhooks";
 *
 * export { DeliveryRecords };
 *
 * interface Env {
 *   readonly QUEUE: QueueLike;
 *   readonly DEAD: QueueLike;
 *   readonly RECORDS: DeliveryRecordsNamespace<unknown>;
 *   readonly SVC_WEBHOOK_SECRET: string;
 * }
 *
 * interface Context {
 *   waitUntil(work: Promise<unknown>): void;
 * }
 *
 * function build(env: Env) {
 *   const inbox = queuesInbox(() => env.QUEUE);
 *   const receiver = createReceiver({
 *     name: "mail",
 *     secret: env.SVC_WEBHOOK_SECRET,
 *     store: durableObjectStore(env.RECORDS),
 *     maxBodyBytes: inbox.maxBodyBytes,
 *     on: { "email.delivered": inbox((event) => console.log(event.type)) },
 *   });
 *   return { receiver, consume: inbox.consumer(receiver, { dead: () => env.DEAD }) };
 * }
 *
 * let built: ReturnType<typeof build> | undefined;
 *
 * export default {
 *   fetch: (request: Request, env: Env, context: Context): Promise<Response> =>
 *     (built ??= build(env)).receiver.fetch(request, env, context),
 *   queue: (batch: QueueBatch, env: Env): Promise<void> => (built ??= build(env)).consume(batch),
 * };
 * ```
 */
export function queuesInbox(queue: () => QueueLike, options: QueuesInboxOptions = {}): QueuesInbox {
  assertValid(
    typeof queue === "function",
    "queue",
    "`queuesInbox` needs a function that returns the binding of a queue, such as () => env.QUEUE.",
  );
  assertOptions(options, ["retry"]);
  const retry = retryDelays(options.retry, { attempts: 100, mostMs: longestDelayMs });
  const members: Pick<QueuesInbox, keyof QueuesInbox> = {
    maxBodyBytes,
    consumer(receiver, consumerOptions) {
      assertValid(
        typeof Object(receiver).resume === "function",
        "receiver",
        "`consumer` needs a receiver of `createReceiver`.",
      );
      assertOptions(consumerOptions, ["dead", "waitMs", "logger"]);
      const { dead, waitMs = 300_000, logger = console } = consumerOptions;
      assertValid(
        typeof dead === "function",
        "dead",
        "`dead` must be a function that returns the binding of a queue, such as () => env.DEAD.",
      );
      assertWhole(waitMs, "waitMs", 0, 600_000);
      assertValid(
        typeof Object(logger).error === "function",
        "logger",
        "`logger` must have a method `error`.",
      );
      return (batch) => consume(receiver, batch, { retry, dead, waitMs, logger });
    },
  };
  return Object.assign(defineInbox(enqueueIn(queue), { maxBodyBytes }), members);
}
