import type { Receiver } from "@svc-webhooks/core";
import { errorText, runJob, type RetryDelays } from "@svc-webhooks/core/inbox";
import { keepConnected } from "./queue/connection.js";
import type { BullJob, QueueLike } from "./queue-like.js";

/** A processor for a BullMQ `Worker`. */
export type Processor = (job: BullJob, token?: string, signal?: AbortSignal) => Promise<string>;

/** Returns the worker that runs a job. BullMQ declares the member as protected; a process of its own has none. */
const workerOf = (job: BullJob) => (job as { readonly queue?: Pick<QueueLike, "backend"> }).queue;

/** Returns whether a worker has died after it had removed the body of a job that was done. */
const isDone = ({ id, data }: BullJob) =>
  id !== undefined && (Object(data) as { readonly done?: unknown }).done === id;

/** Runs jobs. Resolves with the outcome of a job that is done, and rejects for one that is retried or dead. */
export const processorFor =
  (receiver: Pick<Receiver, "resume">, retry: RetryDelays): Processor =>
  async (job, token, signal) => {
    keepConnected(workerOf(job));
    if (isDone(job)) return "duplicate";
    // BullMQ counts no attempt that left no result. Another tool has ordered one above the limit.
    const attempt = { number: Math.min(job.attemptsMade + 1, retry.limit), of: retry };
    const verdict = await runJob(receiver, job.data, { signal, attempt });
    if (verdict.action === "done") {
      // The bodies of done jobs would fill Redis. A full Redis refuses this, but not that the job is done.
      await job.updateData({ done: job.id }).catch(() => {});
      return verdict.code;
    }
    const error = errorOf(verdict.error);
    job.opts.stackTraceLimit = 1;
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

/** The most characters of a stack that a job keeps. */
const mostStack = 2_000;

/**
 * Returns the error of a run for BullMQ, which keeps its message and its stack in Redis, and recognizes by its message the
 * error that limits the rate of a queue: a handler that throws one would run for ever.
 */
function errorOf(cause: unknown): Error {
  const text = errorText(cause);
  const isLimit = text === "bullmq:rateLimitExceeded";
  const error = new Error(isLimit ? `A handler threw ${text}.` : text, { cause });
  error.stack = errorText({ message: stackIn(cause) ?? text }).slice(0, mostStack);
  return error;
}

function stackIn(error: unknown): unknown {
  try {
    return (Object(error) as { readonly stack?: unknown }).stack;
  } catch {
    return undefined;
  }
}

/** BullMQ recognizes by its name an error that ends a job, or that gives it back. */
const named = (error: Error, name: string): Error => Object.assign(error, { name });
