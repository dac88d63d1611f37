import type { Enqueue } from "@svc-webhooks/core/inbox";
import type { BullJob, QueueLike } from "../queue-like.js";
import type { Retry } from "./retry.js";

/** How long a done job stays for the dashboard. The store's record, not the job, makes later copies duplicates. */
const kept = { age: 3_600, count: 10_000 };

/** Adds each job once. A copy of a dead letter runs it again. */
export function enqueueIn(queue: QueueLike, retry: Retry): Enqueue {
  const options = {
    attempts: retry.limit,
    backoff: { type: "fixed", delay: retry.delayMs(1) },
    removeOnComplete: kept,
    removeOnFail: false,
  } as const;
  return async (job) => {
    // `add` does nothing for the id of a dead letter, and does not report it. Both commands are sent in one write.
    const [added, state] = await Promise.all([
      queue.add(job.type, job, { ...options, jobId: job.key }),
      queue.getJobState(job.key),
    ]);
    if (state !== "failed") return;
    await revive(added);
    // If an operator has discarded the dead letter meanwhile, this is a new job.
    if ((await queue.getJobState(job.key)) === "unknown") {
      await queue.add(job.type, job, { ...options, jobId: job.key });
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
