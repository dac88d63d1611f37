import type { Receiver } from "@svc-webhooks/core";
import { startLoop } from "@svc-webhooks/core/engine";
import { runJob, type Verdict } from "@svc-webhooks/core/inbox";
import type { MemoryQueue, Run } from "./memory-queue.js";

/** A worker of an inbox in memory. */
export interface MemoryWorker {
  /**
   * Starts no more jobs, and resolves when the running jobs have ended, or after `deadlineMs` milliseconds of the
   * inbox's clock. Jobs that still run then are given back: they are ready again, and the results of these runs do not
   * count.
   *
   * @throws ConfigError `unknown_option`, `invalid_option` (as a rejection)
   */
  stop(options: { readonly deadlineMs: number }): Promise<void>;
}

/** Runs a job that was taken from the queue, and settles it. */
export async function perform(
  queue: MemoryQueue,
  run: Run,
  receiver: Pick<Receiver, "resume">,
  signal?: AbortSignal,
): Promise<Verdict> {
  const attempt = { number: run.attempt, of: queue.retry };
  const verdict = await runJob(receiver, run.data, { clock: queue.clock, signal, attempt });
  queue.settle(run, verdict);
  return verdict;
}

/** Runs jobs as they become ready, up to `concurrency` at a time. */
export function startWorker(
  queue: MemoryQueue,
  receiver: Pick<Receiver, "resume">,
  concurrency: number,
): MemoryWorker {
  const loop = startLoop<Run>(
    {
      clock: queue.clock,
      take: (free) => queue.takeUpTo(free),
      nextMs: () => queue.nextMs(),
      perform: (run, signal) => perform(queue, run, receiver, signal),
      giveBack: (runs) => runs.forEach((run) => queue.giveBack(run)),
      onError: console.error,
    },
    concurrency,
  );
  const unsubscribe = queue.onChange(loop.wake);
  return {
    async stop(options) {
      await loop.stop(options);
      unsubscribe();
    },
  };
}
