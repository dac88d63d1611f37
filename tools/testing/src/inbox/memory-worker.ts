import type { Receiver } from "@svc-webhooks/core";
import { runJob, type Verdict } from "@svc-webhooks/core/inbox";
import type { MemoryQueue, Run } from "./memory-queue.js";

/** A worker of an inbox in memory. */
export interface MemoryWorker {
  /**
   * Starts no more jobs, and resolves when the running jobs have ended, or after `deadlineMs` milliseconds of the
   * inbox's clock. Jobs that still run then are given back: they are ready again, and the results of these runs do not
   * count.
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

const longestDelayMs = 2_147_483_647;

/** Runs jobs as they become ready, up to `concurrency` at a time. */
export function startWorker(
  queue: MemoryQueue,
  receiver: Pick<Receiver, "resume">,
  concurrency: number,
): MemoryWorker {
  const { clock } = queue;
  const active = new Map<Run, Promise<unknown>>();
  const stopping = new AbortController();
  let cancelTimer: (() => void) | undefined;

  function pump(): void {
    cancelTimer?.();
    while (active.size < concurrency) {
      const run = queue.take();
      if (!run) break;
      active.set(run, runOne(run));
    }
    const nextMs = queue.nextMs();
    if (nextMs !== undefined) cancelTimer = clock.after(Math.min(nextMs, longestDelayMs), pump);
  }

  async function runOne(run: Run): Promise<void> {
    await perform(queue, run, receiver, stopping.signal);
    active.delete(run);
    if (!stopping.signal.aborted) pump();
  }

  const unsubscribe = queue.onChange(pump);
  pump();
  return {
    async stop({ deadlineMs }) {
      unsubscribe();
      cancelTimer?.();
      stopping.abort();
      let cancelDeadline: (() => void) | undefined;
      const deadline = new Promise<void>((resolve) => {
        if (deadlineMs === 0) resolve();
        else cancelDeadline = clock.after(deadlineMs, resolve);
      });
      await Promise.race([Promise.all(active.values()), deadline]);
      cancelDeadline?.();
      for (const run of active.keys()) queue.giveBack(run);
    },
  };
}
