import type { Receiver } from "@svc-webhooks/core";
import { errorText, runJob, type RetryDelays } from "@svc-webhooks/core/inbox";
import type { BullJob } from "./queue-like.js";

/** A processor for a BullMQ `Worker`. */
export type Processor = (job: BullJob, token?: string, signal?: AbortSignal) => Promise<string>;

/** Returns whether a worker has died after it had removed the body of a job that was done. */
const isDone = ({ id, data }: BullJob) =>
  id !== undefined && (Object(data) as { readonly done?: unknown }).done === id;

/** Runs jobs. Resolves with the outcome of a job that is done, and rejects for one that is retried or dead. */
export const processorFor =
  (receiver: Pick<Receiver, "resume">, retry: RetryDelays): Processor =>
  async (job, token, signal) => {
    if (isDone(job)) return "duplicate";
    const attempt = { number: job.attemptsMade + 1, of: retry };
    const verdict = await runJob(receiver, job.data, { signal, attempt });
    if (verdict.action === "done") {
      // The bodies of done jobs would fill Redis.
      await job.updateData({ done: job.id });
      return verdict.code;
    }
    const error = new Error(errorText(verdict.error), { cause: verdict.error });
    if (verdict.action === "dead") throw named(error, "UnrecoverableError");
    if (verdict.isUnused && token !== undefined) {
      await job.moveToWait(token);
      throw named(error, "WaitingError");
    }
    // BullMQ reads both from here when the processor has rejected. The job may have been stored with another limit.
    job.opts.attempts = Infinity;
    job.opts.backoff = { type: "fixed", delay: verdict.afterMs ?? 0 };
    throw error;
  };

/** BullMQ recognizes by its name an error that ends a job, or that gives it back. */
const named = (error: Error, name: string): Error => Object.assign(error, { name });
