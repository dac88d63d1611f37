import { assertOptions, assertValid, type Receiver } from "@svc-webhooks/core";
import { runJob, type Verdict } from "@svc-webhooks/core/inbox";
import type { InboxWorker, WorkOptions } from "../inbox-worker.js";
import type { BossJob, BossJobResult } from "../pg-boss-like.js";
import { noListener } from "../queue/check.js";
import { assertSetUp, type InboxQueue } from "../queue/queue.js";
import { connect } from "./connect.js";
import { keepKeysOpen, type KeyOpener } from "./open-keys.js";
import { recordOf } from "./record-of.js";

export async function startWorker(
  queue: InboxQueue,
  receiver: Pick<Receiver, "resume">,
  options: WorkOptions = {},
): Promise<InboxWorker> {
  const { boss, name } = queue;
  assertOptions(options, ["concurrency"]);
  const { concurrency = 16 } = options;
  assertValid(
    Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 1_000,
    "concurrency",
    "`concurrency` must be a whole number from 1 to 1,000.",
  );
  const { resume } = Object(receiver) as Partial<Receiver>;
  assertValid(typeof resume === "function", "receiver", "`work` needs a receiver.");
  assertValid(boss.listenerCount("error") > 0, "boss", noListener);
  const stopping = new AbortController();
  const running = new Set<BossJob>();
  let keys: KeyOpener | undefined;
  const run = async (job: BossJob): Promise<BossJobResult> => {
    running.add(job);
    let status: BossJobResult["status"] = "failed";
    try {
      const result = await resultOf(queue, receiver, job, stopping.signal);
      status = result.status;
      return result;
    } finally {
      running.delete(job);
      if (status !== "completed") keys?.openSoon();
    }
  };

  const ids: string[] = [];
  /** Starts a loop that runs one job at a time. pg-boss settles a batch only when its slowest run has ended. */
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
        // A loop sleeps although more jobs may wait. Wake the next loop now, and this one after its run.
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
  await connect(boss, async () => {
    await assertSetUp(queue);
    keys ??= await keepKeysOpen(queue);
    const loops = await Promise.allSettled(
      Array.from({ length: concurrency }, (_, index) => startLoop(index)),
    );
    for (const loop of loops) if (loop.status === "rejected") throw loop.reason;
  });

  return {
    async stop(given) {
      assertOptions(given, ["deadlineMs"]);
      const { deadlineMs } = Object(given) as { readonly deadlineMs: number };
      assertValid(
        typeof deadlineMs === "number" && deadlineMs >= 0 && deadlineMs <= 2_147_483_647,
        "deadlineMs",
        "`deadlineMs` must be a number of milliseconds from 0 to 2,147,483,647, such as stop({ deadlineMs: 20_000 }).",
      );
      keys?.close();
      let timer: NodeJS.Timeout | undefined;
      const deadline = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, deadlineMs);
      });
      const ended = Promise.all(ids.map((id) => boss.offWork(name, { id, wait: true })));
      await Promise.race([ended, deadline]);
      clearTimeout(timer);
      const left = [...running];
      if (left.length === 0) return;
      const error = new Error("The worker stopped before this run ended.");
      await boss.fail(name, left, recordOf(error)).finally(() => stopping.abort());
    },
  };
}

/** Runs a job, and returns its result for pg-boss. */
async function resultOf(
  queue: InboxQueue,
  receiver: Pick<Receiver, "resume">,
  job: BossJob,
  stopping: AbortSignal,
): Promise<BossJobResult> {
  const { id } = job;
  const signal = AbortSignal.any([job.signal, stopping]);
  const verdict = await runJob(receiver, job.data, { signal }).catch(
    // A value that a handler threw and that cannot be read.
    (error: unknown): Verdict => ({ action: "retry", error }),
  );
  if (verdict.action === "done") {
    // A job that was dead has a higher limit. Now that it is done, its letter is obsolete.
    if (job.retryLimit >= queue.attempts) await removeLetters(queue, job);
    // pg-boss deletes nothing in a queue whose dead jobs hold their keys.
    if (queue.holds) await queue.boss.deleteJob(queue.name, [job]);
    return { id, status: "completed", output: { code: verdict.code } };
  }
  const output = recordOf(verdict.error);
  if (verdict.action === "dead") return { id, status: "deadletter", output };
  if (verdict.afterMs !== undefined) {
    const { boss, name } = queue;
    // `update` refuses active jobs, so the job fails first. The result below then changes nothing.
    await boss.fail(name, [job], output);
    const startAfter = Math.ceil(verdict.afterMs / 1_000);
    await boss.update({ name, options: { id, startAfter } });
  }
  return { id, status: "failed", output };
}

async function removeLetters({ boss, dead }: InboxQueue, { data }: BossJob): Promise<void> {
  const { key } = data as { readonly key: string };
  const letters = await boss.findJobs(dead, { data: { key } });
  const ids = letters.map(({ id }) => id);
  if (ids.length > 0) await boss.deleteJob(dead, ids);
}
