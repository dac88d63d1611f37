import { bullmqInbox } from "@svc-webhooks/bullmq";
import {
  inboxContract,
  type InboxConnection,
  type InboxContractOptions,
  type InboxUnderTest,
  type TestRunner,
} from "@svc-webhooks/testing/inbox";
import { Queue, Worker, type createPostgresBackend } from "bullmq";
import { describe, it } from "vitest";

interface Backend {
  /** Returns the connections of the queue and of the workers of a new client, once the server has started. */
  readonly connection: () => Connecting | Promise<Connecting>;
  /** Default: Redis. */
  readonly factory?: typeof createPostgresBackend;
  readonly runner?: TestRunner;
  readonly abilities?: InboxContractOptions;
  /** The abilities of the server. */
  readonly server?: Pick<InboxUnderTest, "demote" | "fill">;
}

/** Options of BullMQ, and the abilities of the network. */
interface Connecting extends Pick<InboxConnection, "silence"> {
  readonly queue: object;
  readonly worker: object;
  /** Resets silent connections, so that they can be closed. Called before a case ends. */
  readonly reset?: () => Promise<unknown>;
}

let queues = 0;

/** Runs the contract of inboxes on BullMQ. */
export function bullmqContract({
  connection,
  factory,
  runner = { describe, it },
  abilities = {},
  server = {},
}: Backend): void {
  const make = async ({ attempts }: { readonly attempts: number }): Promise<InboxUnderTest> => {
    const name = `contract-${(queues += 1)}`;
    const closing: (() => Promise<unknown>)[] = [];

    const connect = async () => {
      const { silence, reset, ...own } = await connection();
      // The overloads do not allow a backend that may be undefined.
      const queue = new Queue(name, { connection: own.queue }, factory as never);
      queue.on("error", () => {});
      await queue.waitUntilReady();
      const inbox = bullmqInbox(queue, { retry: { limit: attempts, firstMs: 1, mostMs: 1 } });
      const workers: Worker[] = [];
      const cut = async () => {
        for (const worker of workers) await worker.close(true);
        await queue.close();
      };
      closing.push(async () => {
        await reset?.();
        await cut();
      });
      return {
        queue,
        silence,
        inbox,
        admin: inbox.admin,
        work(receiver: Parameters<typeof inbox.processor>[0]) {
          const settings = {
            connection: own.worker,
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
    const first = await connect();
    return {
      ...server,
      connect,
      inject: (data) => first.queue.add("foreign", data),
      async close() {
        for (const cut of closing) await cut();
      },
    };
  };
  inboxContract(runner, `an inbox${abilities.intake ? " of an intake" : ""}`, make, abilities);
}
