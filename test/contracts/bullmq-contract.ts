import { bullmqInbox } from "@svc-webhooks/bullmq";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { Queue, Worker, type createPostgresBackend } from "bullmq";
import { describe, it } from "vitest";

interface Backend {
  /** The connection of BullMQ, once the server has started. */
  readonly connection: () => object;
  /** Default: Redis. */
  readonly factory?: typeof createPostgresBackend;
}

let queues = 0;

/** Runs the contract of inboxes on BullMQ. */
export function bullmqContract({ connection, factory }: Backend): void {
  inboxContract({ describe, it }, "an inbox", ({ attempts }) => {
    const name = `contract-${(queues += 1)}`;
    // The overloads do not allow a backend that may be undefined.
    const options = { connection: connection() };
    const closing: (() => Promise<unknown>)[] = [];

    const connect = () => {
      const queue = new Queue(name, options, factory as never);
      queue.on("error", () => {});
      const inbox = bullmqInbox(queue, { retry: { limit: attempts, firstMs: 1, mostMs: 1 } });
      const workers: Worker[] = [];
      const cut = async () => {
        for (const worker of workers) await worker.close(true);
        await queue.close();
      };
      closing.push(cut);
      return {
        queue,
        inbox,
        admin: inbox.admin,
        work(receiver: Parameters<typeof inbox.processor>[0]) {
          const settings = {
            ...options,
            ...inbox.workerOptions,
            concurrency: 16,
            // BullMQ notices a dead worker after these times, 30 s by default.
            lockDuration: 1_000,
            stalledInterval: 1_000,
          };
          const worker = new Worker(name, inbox.processor(receiver), settings, factory as never);
          worker.on("error", () => {});
          workers.push(worker);
          return {
            async stop() {
              worker.cancelAllJobs();
              await worker.close();
            },
          };
        },
        kill: cut,
      };
    };
    const first = connect();
    return {
      connect,
      inject: (data) => first.queue.add("foreign", data),
      async close() {
        for (const cut of closing) await cut();
      },
    };
  });
}
