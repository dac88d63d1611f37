import { fileURLToPath } from "node:url";
import { parseDelivery, type Receiver, type ResumeOptions } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import type { InboxJob } from "@svc-webhooks/core/inbox";
import { gate } from "@svc-webhooks/kit/gate";
import { bundled } from "@svc-webhooks/kit/launch";
import { workerd } from "@svc-webhooks/kit/workers";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { Response, type Request } from "miniflare";
import { describe, test } from "vitest";
import { queuesInbox, type DeadLetter } from "../../src/queues.js";
import type { Resumed } from "./contract-worker.js";

const file = fileURLToPath(new URL("contract-worker.ts", import.meta.url));
const script = await bundled(file, "workerd");
const { maxBodyBytes } = queuesInbox(() => ({ send: async () => {} }));

/** One worker of the contract: the batches that it gets run with its receiver. */
interface Working {
  readonly receiver: Pick<Receiver, "resume">;
  readonly running: Set<Promise<unknown>>;
  readonly killed: Promise<never>;
  isOpen: boolean;
}

/** Starts a queue on workerd, whose consumer calls the receivers of the contract's processes. */
async function open(attempts: number) {
  const letters: { key: string; error: string }[] = [];
  const workers: Working[] = [];
  const waiting = new Set<() => void>();
  const closed = gate<never>();
  closed.opened.catch(() => {});

  /** Returns the worker for a batch, and waits until there is one. */
  const assign = async (): Promise<number> => {
    for (;;) {
      const worker = workers.findIndex(({ isOpen }) => isOpen);
      if (worker !== -1) return worker;
      const { opened, open: wake } = gate();
      waiting.add(wake);
      await Promise.race([opened, closed.opened]);
    }
  };

  const resume = async (given: {
    readonly worker: number;
    readonly delivery: string;
    readonly options: Omit<ResumeOptions, "onError">;
  }): Promise<Resumed> => {
    const working = workers[given.worker];
    if (!working) throw new Error("There is no such worker.");
    const { receiver, running, killed } = working;
    let error: Resumed["error"];
    const run = receiver.resume(parseDelivery(given.delivery), {
      ...given.options,
      onError: (problem) => {
        error = { code: codeOf(problem), message: (problem as Error).message };
      },
    });
    running.add(run);
    const outcome = await Promise.race([run, killed]);
    running.delete(run);
    return { outcome, error };
  };

  const serve = async (request: Request): Promise<Response> => {
    const data: unknown = await request.json();
    try {
      const { pathname } = new URL(request.url);
      if (pathname === "/resume") {
        return Response.json(await resume(data as Parameters<typeof resume>[0]));
      }
      if (pathname === "/assign") return Response.json({ worker: await assign() });
      for (const { job, error } of data as readonly DeadLetter[]) {
        letters.push({ key: (job as InboxJob).key, error });
      }
      return Response.json({});
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  };

  const quick = { maxBatchSize: 10, maxBatchTimeout: 0 };
  const worker = workerd(script, {
    bindings: { ATTEMPTS: attempts },
    serviceBindings: { PROBE: serve },
    queueProducers: { QUEUE: { queueName: "mail" }, DEAD: { queueName: "dead" } },
    queueConsumers: { mail: { ...quick, maxRetries: 100 }, dead: quick },
  });
  const url = await worker.ready;

  const send = async (body: unknown, options: object) => {
    const response = await fetch(url, { method: "POST", body: JSON.stringify({ body, options }) });
    if (!response.ok) throw new Error(await response.text());
  };

  return {
    letters,
    send,
    /** Assigns the next batches to a receiver. */
    work(receiver: Pick<Receiver, "resume">) {
      const { opened: killed, fail } = gate<never>();
      killed.catch(() => {});
      const working: Working = { receiver, running: new Set(), killed, isOpen: true };
      workers.push(working);
      for (const wake of waiting) wake();
      waiting.clear();
      return {
        async stop() {
          working.isOpen = false;
          await Promise.all(working.running);
        },
        kill() {
          working.isOpen = false;
          fail(new Error("killed"));
        },
      };
    },
    async close() {
      closed.fail(new Error("closed"));
      await worker.dispose();
    },
  };
}

inboxContract(
  // Each case has a queue of its own.
  { describe, it: test.concurrent },
  "an inbox on Cloudflare Queues",
  async ({ attempts }) => {
    const queue = await open(attempts);
    return {
      connect() {
        let isKilled = false;
        const workers: ReturnType<typeof queue.work>[] = [];
        const send = async (body: unknown, options: object) => {
          if (isKilled) throw new Error("killed");
          await queue.send(body, options);
        };
        return {
          inbox: queuesInbox(() => ({ send })),
          work(receiver: Pick<Receiver, "resume">) {
            const worker = queue.work(receiver);
            workers.push(worker);
            return worker;
          },
          kill() {
            isKilled = true;
            for (const worker of workers) worker.kill();
          },
        };
      },
      inject: (data) => queue.send(data, { contentType: "json" }),
      deadLetters: () => queue.letters,
      close: () => queue.close(),
    };
  },
  { admin: false, deduplicates: false, maxBodyBytes },
);
