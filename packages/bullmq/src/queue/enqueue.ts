import type { DeadlineCall } from "@svc-webhooks/core";
import type { Enqueue, InboxJob, RetryDelays } from "@svc-webhooks/core/inbox";
import type { BullJob, QueueLike } from "../queue-like.js";
import { guardMemory, replyMs, type Reach } from "./connection.js";

/**
 * The number of jobs that may still wait for Redis although their deliveries have ended as `queue_unavailable`. BullMQ
 * keeps a job, with its body, until there is a connection.
 */
const mostOverdue = 100;

/** Adds each job once. A copy of a dead letter runs it again. */
export function enqueueIn(queue: QueueLike, reach: Reach, retry: RetryDelays): Enqueue {
  const options = {
    attempts: retry.limit,
    backoff: { type: "fixed", delay: retry.delayMs(1) },
    // Its worker has removed the body. A copy finds the id in Redis, and is no other job.
    removeOnComplete: { age: 3_600, count: 10_000 },
    removeOnFail: false,
    // By default, a job keeps the stacks of all its attempts.
    stackTraceLimit: 1,
  } as const;
  const enqueue = async (job: InboxJob) => {
    // `add` does nothing for the id of a dead letter, and does not report it. Both commands are sent in one write.
    const [added, state] = await Promise.all([
      queue.add(job.type, job, { ...options, jobId: job.key }),
      queue.getJobState(job.key),
    ]);
    if (state === "failed") {
      // The backend for PostgreSQL may read the state after this new job has been run and has died.
      if ((await queue.getJob(job.key))?.timestamp === added.timestamp) return;
      await revive(added);
    } else if (state !== "unknown") return;
    // If an operator has discarded the dead letter meanwhile, this is a new job. A job that is done already runs again,
    // and its record makes it a duplicate.
    if ((await queue.getJobState(job.key)) === "unknown") {
      await queue.add(job.type, job, { ...options, jobId: job.key });
    }
  };
  const assertRoom = guardMemory(queue);
  /** The calls whose jobs wait for Redis, the oldest first. */
  const pending = new Set<DeadlineCall>();
  const assertResponding = () => {
    if (pending.size < mostOverdue) return;
    let overdue = 0;
    for (const { signal } of pending) {
      // A signal is created when it is read, which costs about a tenth of a delivery.
      if (!signal.aborted) return;
      overdue += 1;
      if (overdue === mostOverdue) {
        throw new Error(
          `${mostOverdue} jobs still wait for a response of Redis. Check that it runs, and the \`connection\` of the queue.`,
        );
      }
    }
  };
  return async (job, call) => {
    assertResponding();
    pending.add(call);
    const store = async () => {
      try {
        // Redis stores a job in about twice the room of its body.
        await assertRoom(2 * job.body.length);
        await enqueue(job);
      } finally {
        pending.delete(call);
      }
    };
    await reach(store(), replyMs);
  };
}

/** How often a dead letter is made run again that others make run, and that dies, meanwhile. */
const mostTries = 5;

/** Runs a dead letter again, with a full count of attempts. Returns false if it is no longer a dead letter. */
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
