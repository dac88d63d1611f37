import { runJob, type Verdict } from "@svc-webhooks/core/inbox";
import type { Receiver } from "@svc-webhooks/core";
import type { BossJob, BossJobResult } from "../pg-boss-like.js";
import { is, sql, type InboxQueue } from "../queue/queue.js";
import { recordOf } from "./record-of.js";

/** Runs one attempt of a job, and returns its result for pg-boss. `signal` ends a wait for the lease or the store. */
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
    // The job is no longer active, so this result changes nothing.
    return { id, status: "failed" };
  }
  // Any letter is of an earlier death of this event. If the process ends now, the job is still there.
  await removeLetters(queue, job);
  if (verdict.action === "dead") {
    return { id, status: "deadletter", output: recordOf(verdict.error) };
  }
  // pg-boss deletes nothing in a queue whose dead jobs hold their keys.
  if (queue.holds) await remove(queue, job);
  return { id, status: "completed", output: { code: verdict.code } };
}

/**
 * Returns the number of an attempt since the job was stored or revived, from 1. pg-boss counts from 0, and a revived job
 * has a higher limit.
 */
const numberOf = ({ mostAttempts }: InboxQueue, { retryCount, retryLimit }: BossJob): number =>
  retryCount - retryLimit + mostAttempts;

/** A condition for the attempt of a job: `$1` is the queue, `$2` the job, and `$3` pg-boss's count. */
const isRunning = `name = $1 and id = $2 and retry_count = $3 and ${is("=", "active")}`;

/** Makes a job wait for its next attempt. An attempt that was not used does not count. */
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

async function removeLetters(queue: InboxQueue, { id, sourceRootId }: BossJob): Promise<void> {
  await sql(
    queue,
    `delete from ${queue.jobs} where name = $1 and source_root_id = $2 and ${is("<", "active")}`,
    [queue.dead, sourceRootId ?? id],
  );
}

async function remove(queue: InboxQueue, { id, retryCount }: BossJob): Promise<void> {
  await sql(queue, `delete from ${queue.jobs} where ${isRunning}`, [queue.name, id, retryCount]);
}
