import { runJob, type Verdict } from "@svc-webhooks/core/inbox";
import type { Receiver } from "@svc-webhooks/core";
import type { BossJob, BossJobResult } from "../pg-boss-like.js";
import { is, sql, type InboxQueue } from "../queue/queue.js";
import { recordOf } from "./record-of.js";

/**
 * Runs one attempt of a job. Resolves to its result for pg-boss. Aborting `signal` ends a wait for the lease or the
 * store.
 */
export async function attempt(
  queue: InboxQueue,
  receiver: Pick<Receiver, "resume">,
  job: BossJob,
  signal: AbortSignal,
): Promise<BossJobResult> {
  const { id } = job;
  const verdict = await runJob(receiver, job.data, {
    signal,
    attempt: { number: numberOf(queue, job), of: queue.retry },
  });
  if (verdict.action === "retry") {
    await again(queue, job, verdict);
    // The job is no longer active, so pg-boss ignores this result.
    return { id, status: "failed" };
  }
  const removed = removeLetters(queue, job);
  if (verdict.action === "dead") {
    // Ignores errors, because the job's own letter matters more. `afterRuns` removes older letters that remain.
    await removed.catch(() => {});
    return { id, status: "deadletter", output: recordOf(verdict.error) };
  }
  await removed;
  // Removes the done job, because pg-boss deletes nothing in a queue with `afterDead: "hold"`.
  if (queue.holds) await remove(queue, job);
  return { id, status: "completed", output: { code: verdict.code } };
}

/**
 * Returns the number of this attempt since the job was stored or revived, starting at 1. pg-boss's `retryCount` starts
 * at 0 and is never reset. Instead, reviving a job and an unused attempt raise its `retryLimit`.
 */
function numberOf(
  { mostAttempts, retry }: InboxQueue,
  { retryCount, retryLimit }: BossJob,
): number {
  const number = retryCount - retryLimit + mostAttempts;
  // `number` can be below 1 if the job still has its limit from before `retry.limit` was lowered: `setup` does not
  // change the limit of a job that has been retried or revived. In that case, `retryCount + 1` is used, capped so that
  // this attempt is not the last, unless `retry.limit` is 1.
  return number >= 1 ? number : Math.max(1, Math.min(retryCount + 1, retry.limit - 1));
}

/**
 * An SQL condition that holds while the attempt is running. `$1` is the queue, `$2` the job, and `$3` the job's
 * `retryCount`.
 */
const isRunning = `name = $1 and id = $2 and retry_count = $3 and ${is("=", "active")}`;

/** Returns a job to the queue for its next attempt. An unused attempt does not count. */
async function again(
  queue: InboxQueue,
  { id, retryCount }: BossJob,
  { error, afterMs = 0, isUnused }: Extract<Verdict, { action: "retry" }>,
): Promise<void> {
  await sql(
    queue,
    `update ${queue.jobs}
    set state = 'retry', start_after = now() + $4::float8 * interval '1 ms', output = $5::jsonb,
      heartbeat_on = null, retry_limit = retry_limit + $6::int
    where ${isRunning}`,
    [queue.name, id, retryCount, afterMs, JSON.stringify(recordOf(error)), isUnused ? 1 : 0],
  );
}

/**
 * Removes the letters of the event's earlier deaths. Does nothing if another attempt of the job has started, because
 * that attempt may have made one of the letters. The job is not settled yet, so the event is not lost if the process
 * ends now.
 */
async function removeLetters(queue: InboxQueue, job: BossJob): Promise<void> {
  const { id, retryCount } = job;
  await sql(
    queue,
    `delete from ${queue.jobs} letter where name = $4 and source_root_id = $5 and ${is("<", "active")}
      and exists (select from ${queue.jobs} where ${isRunning})`,
    [queue.name, id, retryCount, queue.dead, rootOf(job)],
  );
}

/** Returns the id of the event's first job, to which all its letters refer. */
export const rootOf = ({ id, sourceRootId }: BossJob): string => sourceRootId ?? id;

async function remove(queue: InboxQueue, { id, retryCount }: BossJob): Promise<void> {
  await sql(queue, `delete from ${queue.jobs} where ${isRunning}`, [queue.name, id, retryCount]);
}
