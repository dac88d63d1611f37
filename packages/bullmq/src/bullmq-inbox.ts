import type { Receiver } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { engineOptions } from "@svc-webhooks/core/engine";
import { defineInbox, type Inbox, type InboxAdmin } from "@svc-webhooks/core/inbox";
import { adminOf } from "./admin/admin.js";
import type { BullmqInboxOptions } from "./options.js";
import { processorFor, type Processor } from "./processor.js";
import type { QueueLike } from "./queue-like.js";
import { check } from "./queue/check.js";
import { reachOf } from "./queue/connection.js";
import { enqueueIn } from "./queue/enqueue.js";

/** The result of {@link bullmqInbox}. */
export interface BullmqInbox extends Inbox {
  /** Returns the processor to pass to a `Worker`. */
  processor(receiver: Pick<Receiver, "resume">): Processor;
  /**
   * The options that a `Worker` needs. Without them, BullMQ fails a job permanently once two workers have died running
   * it.
   */
  readonly workerOptions: { readonly maxStalledCount: number };
  /**
   * Resolves to one text for each risk to jobs: no append-only file, eviction, a replica, more than 70 % of `maxmemory`
   * used, a connection without `socketTimeout` or `reconnectOnError`. Resolves to an empty list for BullMQ's other
   * backends. Rejects with a `WebhookError` `queue_unavailable` if Redis does not respond within 10 s.
   */
  check(): Promise<readonly string[]>;
  /**
   * The functions for operators. The id of a job is its `key`. Each call rejects with a `WebhookError`
   * `queue_unavailable` if the server does not respond within 10 s.
   */
  readonly admin: InboxAdmin;
}

/**
 * Stores deliveries in a queue of BullMQ 6.7 or newer, and runs their handlers from it. You own the queue and its
 * workers: connect them, listen for their errors, and close them.
 *
 * @throws ConfigError `invalid_option` if `queue` is not a `Queue`, or an option is invalid; `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { bullmqInbox, queueConnection, workerConnection } from "svc-webhooks/bullmq";
 * import { oncePerMinute } from "svc-webhooks/inbox";
 * import { Queue, Worker } from "bullmq";
 *
 * const url = process.env.REDIS_URL ?? "redis://localhost:6379";
 * const onError = oncePerMinute((error) => console.error("bullmq:", error));
 * const queue = new Queue("mail", { connection: { url, ...queueConnection } });
 * queue.on("error", onError);
 * const inbox = bullmqInbox(queue);
 *
 * export const receiver = createReceiver({
 *   name: "mail",
 *   secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "email.delivered": inbox((event) => console.log(event.type)) },
 * });
 *
 * export function startWorker() {
 *   const connection = { url, ...workerConnection };
 *   const options = { connection, concurrency: 16, ...inbox.workerOptions };
 *   return new Worker("mail", inbox.processor(receiver), options).on("error", onError);
 * }
 * ```
 */
export function bullmqInbox(queue: QueueLike, options: BullmqInboxOptions = {}): BullmqInbox {
  assertValid(
    typeof Object(queue).add === "function" && typeof Object(queue).getJobState === "function",
    "queue",
    "`bullmqInbox` needs a Queue of bullmq 6.7 or newer.",
  );
  const { retry, onDiscard } = engineOptions(options, ["retry", "onDiscard"]);
  const reach = reachOf(queue);
  const methods: Pick<BullmqInbox, keyof BullmqInbox> = {
    processor(receiver) {
      assertValid(
        typeof Object(receiver).resume === "function",
        "receiver",
        "`processor` needs a receiver of `createReceiver`.",
      );
      return processorFor(receiver, retry);
    },
    workerOptions: { maxStalledCount: 1_000 },
    check: () => reach(check(queue)),
    admin: adminOf(queue, reach, onDiscard),
  };
  return Object.assign(defineInbox(enqueueIn(queue, reach, retry)), methods);
}
