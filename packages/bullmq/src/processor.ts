import type { Receiver } from "@svc-webhooks/core";
import { runJob } from "@svc-webhooks/core/inbox";
import type { BullJob } from "./queue-like.js";
import type { Retry } from "./queue/retry.js";

/** A processor for a BullMQ `Worker`. */
export type Processor = (job: BullJob, token?: string, signal?: AbortSignal) => Promise<string>;

/** Runs jobs. Resolves with the outcome of a job that is done, and rejects for one that is retried or dead. */
export const processorFor =
  (receiver: Pick<Receiver, "resume">, retry: Retry): Processor =>
  async (job, _token, signal) => {
    const verdict = await runJob(receiver, job.data, { signal });
    if (verdict.action === "done") return verdict.code;
    const error = asError(verdict.error);
    if (verdict.action === "dead") throw Object.assign(error, { name: "UnrecoverableError" });
    // BullMQ reads the delay from here when the processor has rejected.
    const delay = verdict.afterMs ?? retry.delayMs(job.attemptsMade + 1);
    job.opts.backoff = { type: "fixed", delay };
    throw error;
  };

/** Returns a new error, whose name can be set: BullMQ recognizes by its name an error that ends a job. */
const asError = (cause: unknown): Error => {
  const { message = String(cause) } = Object(cause) as Partial<Error>;
  return new Error(message, { cause });
};
