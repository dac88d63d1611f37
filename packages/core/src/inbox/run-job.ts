import { systemClock, type Clock } from "../clock.js";
import { codeOf, WebhookError } from "../errors.js";
import { retryLaterMs } from "../lib/times.js";
import type { OutcomeCode } from "../outcome.js";
import type { Receiver } from "../receiver.js";
import { deliveryOf, type InboxJob } from "./job.js";

/** The action that a queue takes with a job after a run. */
export type Verdict =
  /** Remove the job, or keep it as done. */
  | { readonly action: "done"; readonly code: "processed" | "duplicate" }
  /** Run the job again, after `afterMs` milliseconds (`RetryError`) or by the queue's own schedule. Counts as an attempt. */
  | { readonly action: "retry"; readonly error: unknown; readonly afterMs?: number | undefined }
  /** Do not run the job again by itself: `PermanentError`, `maxRuns`, or a job that cannot be run here. */
  | { readonly action: "dead"; readonly error: unknown };

/** The options of `runJob`. */
export interface RunJobOptions {
  /** Ends the wait for another run's lease or for the store. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The time source of the wait, for tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Runs one job of a queue, and returns the action that the queue takes. While another run holds the lease, or the
 * store is unavailable, it waits and tries again, because neither is an attempt of the event. Never rejects.
 *
 * @example
 * ```ts
 * import type { Receiver } from "@svc-webhooks/core";
 * import { runJob } from "@svc-webhooks/core/inbox";
 *
 * // The processor of a queue that retries a job whose processor rejects.
 * export async function work(receiver: Receiver, data: unknown): Promise<void> {
 *   const verdict = await runJob(receiver, data);
 *   if (verdict.action !== "done") throw verdict.error;
 * }
 * ```
 */
export async function runJob(
  receiver: Pick<Receiver, "resume">,
  job: unknown,
  { signal, clock = systemClock }: RunJobOptions = {},
): Promise<Verdict> {
  let delivery;
  try {
    delivery = deliveryOf(job);
  } catch (error) {
    return { action: "dead", error };
  }
  const { key } = job as InboxJob;
  for (;;) {
    let error: unknown;
    const { code, status, retryAfterMs } = await receiver.resume(delivery, {
      key,
      onError: (problem) => (error = problem),
    });
    error ??= endedAs(code);
    if (code === "processed" || code === "duplicate") return { action: "done", code };
    // The receiver accepted the delivery before, so a bad request means that the job was changed.
    if (code === "parked" || status === 400 || codeOf(error) === "permanent_error") {
      return { action: "dead", error };
    }
    const isBusy = code === "in_flight" || code === "store_unavailable";
    if (!isBusy || !(await wait(clock, retryAfterMs ?? retryLaterMs, signal))) {
      // A RetryError may have any number. Queues misread a negative or infinite delay: as no retry, or as never.
      const isDelay = !isBusy && Number.isFinite(retryAfterMs);
      return {
        action: "retry",
        error,
        ...(isDelay && { afterMs: Math.max(0, retryAfterMs ?? 0) }),
      };
    }
  }
}

/** Returns the error of a run that ended before its handler. */
const endedAs = (code: OutcomeCode) =>
  new WebhookError(code, `This run ended as ${code}. The receiver's log states the cause.`);

/** Resolves to true after `ms`, or to false as soon as the signal is aborted. */
const wait = (clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const stop = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve(true);
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
