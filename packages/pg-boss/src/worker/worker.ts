import type { Receiver } from "@svc-webhooks/core";
import { assertValid, codeOf } from "@svc-webhooks/core/adapter";
import { concurrencyOf, deadlineOf, within } from "@svc-webhooks/core/engine";
import { errorText } from "@svc-webhooks/core/inbox";
import type { InboxWorker, WorkOptions } from "../inbox-worker.js";
import type { BossJob, BossJobResult } from "../pg-boss-like.js";
import { noListener } from "../queue/check.js";
import { assertSetUp, type InboxQueue } from "../queue/queue.js";
import { replyTo } from "../queue/replies.js";
import { afterRuns, type AfterRuns } from "./after-runs.js";
import { attempt, rootOf } from "./attempt.js";
import { connect } from "./connect.js";
import { recordOf } from "./record-of.js";

/** How long `stop` waits after its deadline for jobs to return to the queue, in milliseconds. */
const giveBackMs = 1_000;

export async function startWorker(
  queue: InboxQueue,
  receiver: Pick<Receiver, "resume">,
  options?: WorkOptions,
): Promise<InboxWorker> {
  const { boss, name } = queue;
  const concurrency = concurrencyOf(options);
  const { resume } = Object(receiver) as Partial<Receiver>;
  assertValid(typeof resume === "function", "receiver", "`work` needs a receiver.");
  assertValid(boss.listenerCount("error") > 0, "boss", noListener);
  const stopping = new AbortController();
  const running = new Set<BossJob>();
  let after: AfterRuns | undefined;
  const run = async (job: BossJob): Promise<BossJobResult> => {
    running.add(job);
    let status: BossJobResult["status"] = "failed";
    try {
      const signal = AbortSignal.any([job.signal, stopping.signal]);
      const result = await attempt(queue, receiver, job, signal);
      status = result.status;
      return result;
    } finally {
      running.delete(job);
      if (status !== "completed") after?.soon(status === "deadletter" ? rootOf(job) : undefined);
    }
  };

  const ids: string[] = [];
  /** Starts a loop. It runs one job at a time, because pg-boss settles a batch only when its slowest run has ended. */
  const startLoop = async (index: number): Promise<void> => {
    ids[index] ??= await boss.work(
      name,
      {
        perJobResults: true,
        includeMetadata: true,
        batchSize: 1,
        pollingIntervalSeconds: Math.min(2, Math.max(0.5, concurrency / 16)),
      },
      async (jobs) => {
        // A loop sleeps after each fetch, even if more jobs are waiting. So the next loop is woken now, and this one
        // after its run.
        wake((index + 1) % concurrency);
        const results = await Promise.all(jobs.map(run));
        wake(index);
        return results;
      },
    );
  };
  const wake = (index: number) => {
    const id = ids[index];
    if (id !== undefined) boss.notifyWorker(id);
  };
  const begin = async () => {
    await assertSetUp(queue);
    after ??= await afterRuns(queue);
    const loops = await Promise.allSettled(
      Array.from({ length: concurrency }, (_, index) => startLoop(index)),
    );
    for (const loop of loops) if (loop.status === "rejected") throw loop.reason;
  };
  await connect(boss, begin);

  return {
    async stop(stopOptions) {
      const deadlineMs = deadlineOf(stopOptions);
      after?.close();
      try {
        const ended = Promise.all(ids.map((id) => boss.offWork(name, { id, wait: true })));
        await within(ended, deadlineMs).catch((error: unknown) => {
          if (codeOf(error) !== "queue_unavailable") throw error;
        });
        const left = [...running];
        if (left.length === 0) return;
        const error = new Error("The worker stopped before this run ended.");
        await replyTo(boss, () => boss.fail(name, left, recordOf(error)), giveBackMs);
      } catch (error) {
        // Does not reject, because the receiver must still be drained. Jobs that were not returned stay active until
        // their heartbeats expire.
        boss.emit("error", error instanceof Error ? error : new Error(errorText(error)));
      } finally {
        stopping.abort();
      }
    },
  };
}
