import type { Receiver } from "@svc-webhooks/core";
import { errorText, runJob, type RetryDelays } from "@svc-webhooks/core/inbox";
import { keepConnected } from "./queue/connection.js";
import type { BullJob, QueueLike } from "./queue-like.js";

/** A processor for a BullMQ `Worker`. */
export type Processor = (job: BullJob, token?: string, signal?: AbortSignal) => Promise<string>;

/**
 * Returns the worker that runs a job, or undefined if BullMQ runs the processor in a separate process. The cast is
 * needed because BullMQ declares `queue` as protected.
 */
const workerOf = (job: BullJob) => (job as { readonly queue?: Pick<QueueLike, "backend"> }).queue;

/** Returns whether the job is already done: its worker removed the body, and died before BullMQ completed the job. */
const isDone = ({ id, data }: BullJob) =>
  id !== undefined && (Object(data) as { readonly done?: unknown }).done === id;

/**
 * Returns a processor. It resolves to the code of the outcome for a job that is done, and rejects for a job that will
 * be retried or is dead.
 */
export const processorFor =
  (receiver: Pick<Receiver, "resume">, retry: RetryDelays): Processor =>
  async (job, token, signal) => {
    keepConnected(workerOf(job));
    if (isDone(job)) return "duplicate";
    // Capped, because another tool may retry a job beyond the limit: `runJob` would then park the event without running
    // the handler. BullMQ does not count attempts without a result, so they do not use up the limit.
    const attempt = { number: Math.min(job.attemptsMade + 1, retry.limit), of: retry };
    const verdict = await runJob(receiver, job.data, { signal, attempt });
    if (verdict.action === "done") {
      // Removes the body, because done jobs would otherwise fill Redis. A full Redis refuses this write, but still
      // completes the job.
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
    // Overrides the limit and the delay that the job was stored with: BullMQ reads `opts` after the processor rejects.
    job.opts.attempts = Infinity;
    job.opts.backoff = { type: "fixed", delay: verdict.afterMs ?? 0 };
    throw error;
  };

/** The maximum length of the stack that a job keeps, in characters. */
const mostStack = 2_000;

/**
 * Returns the error to throw to BullMQ, which stores its message and stack in Redis. Changes the message of BullMQ's
 * own rate-limit error: BullMQ would retry a job that fails with this message forever.
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

/** Sets the name by which BullMQ recognizes an error that ends a job or returns it to the queue. */
const named = (error: Error, name: string): Error => Object.assign(error, { name });
