import type { DeadlineCall } from "@svc-webhooks/core";
import type { Enqueue, InboxJob, RetryDelays } from "@svc-webhooks/core/inbox";
import type { BullJob, QueueLike } from "../queue-like.js";
import { replyMs, type Reach } from "./connection.js";
import { guardMemory } from "./memory.js";

/**
 * The maximum number of jobs that may still wait for Redis after the deadline of their deliveries. BullMQ keeps each
 * job and its body in memory until BullMQ is connected.
 */
const mostOverdue = 100;

/**
 * Returns a function that adds each job once. If the delivery of a dead letter arrives again, the dead letter runs
 * again.
 */
export function enqueueIn(queue: QueueLike, reach: Reach, retry: RetryDelays): Enqueue {
  const options = {
    attempts: retry.limit,
    backoff: { type: "fixed", delay: retry.delayMs(1) },
    // Keeps up to 10,000 done jobs for an hour, without the bodies, which the worker has removed. Their ids prevent a
    // copy of a delivery from becoming another job.
    removeOnComplete: { age: 3_600, count: 10_000 },
    removeOnFail: false,
    // Keeps the last stack only. By default, a job keeps the stacks of all its attempts.
    stackTraceLimit: 1,
  } as const;
  const enqueue = async (job: InboxJob) => {
    // Reads the state too, because `add` silently does nothing for the id of a dead letter. Both commands are sent in
    // one write.
    const [added, state] = await Promise.all([
      queue.add(job.type, job, { ...options, jobId: job.key }),
      queue.getJobState(job.key),
    ]);
    if (state === "failed") {
      // Does not revive the job that this call has just added: with BullMQ's PostgreSQL backend, the state may be read
      // after the job has run and died.
      if ((await queue.getJob(job.key))?.timestamp === added.timestamp) return;
      await revive(added);
    } else if (state !== "unknown") return;
    // Adds the job as new if an operator has discarded the dead letter meanwhile. If the job is already done and
    // removed, it runs again and ends as a duplicate, because the store has its record.
    if ((await queue.getJobState(job.key)) === "unknown") {
      await queue.add(job.type, job, { ...options, jobId: job.key });
    }
  };
  const assertRoom = guardMemory(queue);
  /** The calls whose jobs wait for Redis, oldest first. */
  const pending = new Set<DeadlineCall>();
  const assertResponding = () => {
    if (pending.size < mostOverdue) return;
    let overdue = 0;
    for (const { signal } of pending) {
      // Stops early, because the first read of `signal` creates it, which takes about a tenth of the time of a
      // delivery.
      if (!signal.aborted) return;
      overdue += 1;
      if (overdue === mostOverdue) {
        throw new Error(
          `${mostOverdue} jobs still await a response from Redis. Check that it runs, and the queue's \`connection\`.`,
        );
      }
    }
  };
  return async (job, call) => {
    assertResponding();
    pending.add(call);
    const store = async () => {
      try {
        // A job takes about twice the size of its body in Redis.
        await assertRoom(2 * job.body.length);
        await enqueue(job);
      } finally {
        pending.delete(call);
      }
    };
    await reach(store(), replyMs);
  };
}

/**
 * The maximum number of attempts to revive a job. An attempt fails if another process has revived the job, which may
 * then die again.
 */
const mostTries = 5;

/** Runs a dead letter again, with its attempts counted from zero. Returns false if it is no longer a dead letter. */
export async function revive(job: BullJob): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      await job.retry("failed", { resetAttemptsMade: true });
      return true;
    } catch (error) {
      if ((await job.getState()) !== "failed") return false;
      if (tries === mostTries) throw error;
    }
  }
}
