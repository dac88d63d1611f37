import { bullmqInbox, type BullmqInbox } from "@svc-webhooks/bullmq";
import type { Receiver } from "@svc-webhooks/core";
import { Queue, Worker } from "bullmq";
import { realLeaseMs } from "./time.js";

const name = "chaos";

/**
 * Opens a queue of BullMQ.
 *
 * @param isPatient whether calls wait for a server that cannot be reached
 */
export function openQueue(
  port: number,
  isPatient = false,
): {
  readonly inbox: BullmqInbox;
  readonly work: (receiver: Pick<Receiver, "resume">) => Pick<Worker, "close">;
  readonly close: () => Promise<void>;
} {
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue(name, {
    connection: {
      ...connection,
      ...(isPatient
        ? { maxRetriesPerRequest: null }
        : { maxRetriesPerRequest: 1, enableOfflineQueue: false }),
    },
  });
  // Expected while Redis is down.
  queue.on("error", () => {});
  const inbox = bullmqInbox(queue, { retry: { limit: 1_000, firstMs: 50, mostMs: 500 } });
  return {
    inbox,
    work(receiver) {
      const worker = new Worker(name, inbox.processor(receiver), {
        connection: { ...connection, maxRetriesPerRequest: null },
        concurrency: 16,
        lockDuration: realLeaseMs,
        stalledInterval: realLeaseMs,
        ...inbox.workerOptions,
      });
      worker.on("error", () => {});
      return worker;
    },
    close: () => queue.close(),
  };
}
