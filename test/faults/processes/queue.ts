import {
  bullmqInbox,
  queueConnection,
  workerConnection,
  type BullmqInbox,
} from "@svc-webhooks/bullmq";
import type { Receiver } from "@svc-webhooks/core";
import { Queue, Worker } from "bullmq";
import { realLeaseMs } from "./time.js";

interface QueueOptions {
  readonly name?: string;
  /** Whether calls wait for a server that cannot be reached. Default false. */
  readonly isPatient?: boolean;
  /** How long a job stays with a worker that has died, in milliseconds. Default: a lease, in real time. */
  readonly lockMs?: number;
}

/** Opens a queue of BullMQ. */
export function openQueue(
  port: number,
  { name = "chaos", isPatient = false, lockMs = realLeaseMs }: QueueOptions = {},
): {
  readonly queue: Queue;
  readonly inbox: BullmqInbox;
  readonly work: (receiver: Pick<Receiver, "resume">) => Pick<Worker, "close">;
  readonly close: () => Promise<void>;
} {
  const connection = { host: "127.0.0.1", port };
  const queue = new Queue(name, {
    connection: {
      ...connection,
      ...(isPatient ? workerConnection : queueConnection),
    },
  });
  // Expected while Redis is down.
  queue.on("error", () => {});
  const inbox = bullmqInbox(queue, { retry: { limit: 1_000, firstMs: 50, mostMs: 500 } });
  return {
    queue,
    inbox,
    work(receiver) {
      const worker = new Worker(name, inbox.processor(receiver), {
        connection: { ...connection, ...workerConnection },
        concurrency: 16,
        lockDuration: lockMs,
        stalledInterval: lockMs,
        ...inbox.workerOptions,
      });
      worker.on("error", () => {});
      return worker;
    },
    close: () => queue.close(),
  };
}
