import type { Enqueue, InboxJob } from "@svc-webhooks/core/inbox";
import type { BullJob, QueueLike } from "../queue-like.js";
import type { Retry } from "./retry.js";

/** How long a done job stays for the dashboard. The store's record, not the job, makes later copies duplicates. */
const kept = { age: 3_600, count: 10_000 };

/**
 * The number of jobs that may still wait for Redis although their deliveries have ended as `queue_unavailable`. BullMQ
 * keeps a job, with its body, until there is a connection.
 */
const mostOverdue = 100;

/** Adds each job once. A copy of a dead letter runs it again. */
export function enqueueIn(queue: QueueLike, retry: Retry): Enqueue {
  const options = {
    attempts: retry.limit,
    backoff: { type: "fixed", delay: retry.delayMs(1) },
    removeOnComplete: kept,
    removeOnFail: false,
  } as const;
  const enqueue = async (job: InboxJob) => {
    // `add` does nothing for the id of a dead letter, and does not report it. Both commands are sent in one write.
    const [added, state] = await Promise.all([
      queue.add(job.type, job, { ...options, jobId: job.key }),
      queue.getJobState(job.key),
    ]);
    if (state === "failed") await revive(added);
    else if (state !== "unknown") return;
    // If an operator has discarded the dead letter meanwhile, this is a new job.
    if ((await queue.getJobState(job.key)) === "unknown") {
      await queue.add(job.type, job, { ...options, jobId: job.key });
    }
  };
  let overdue = 0;
  return async (job, { signal }) => {
    if (overdue >= mostOverdue) {
      throw new Error(
        `${mostOverdue} jobs still wait for a response of Redis. Check that it runs, and the \`connection\` of the queue.`,
      );
    }
    let isOverdue = false;
    const expire = () => {
      isOverdue = true;
      overdue += 1;
    };
    signal.addEventListener("abort", expire, { once: true });
    try {
      await enqueue(job);
    } finally {
      signal.removeEventListener("abort", expire);
      if (isOverdue) overdue -= 1;
    }
  };
}

/** Runs a dead letter again, with a full count of attempts. Returns false if it is no longer a dead letter. */
export async function revive(job: BullJob): Promise<boolean> {
  try {
    await job.retry("failed", { resetAttemptsMade: true });
    return true;
  } catch (error) {
    if ((await job.getState()) === "failed") throw error;
    return false;
  }
}
