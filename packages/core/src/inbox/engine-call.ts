import { WebhookError } from "../errors.js";
import type { MaybePromise } from "../store.js";

/** The default time limit of a call, in milliseconds. */
const longestMs = 10_000;

/**
 * For queues: settles like `call`, or rejects if it takes too long. A client that has no connection, or whose
 * connection has died silently, may never settle its calls.
 *
 * @param ms the longest wait, in milliseconds; default: 10,000
 * @throws WebhookError `queue_unavailable`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { within } from "@svc-webhooks/core/engine";
 *
 * const silent = new Promise(() => {});
 * await assert.rejects(within(silent, 10), { code: "queue_unavailable" });
 * ```
 */
export async function within<Result>(
  call: MaybePromise<Result>,
  ms: number = longestMs,
): Promise<Result> {
  let timer;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new WebhookError(
          "queue_unavailable",
          `The queue's server did not respond within ${ms / 1_000} s. Check that it runs and that the connection works. A change that was sent may still take effect.`,
        ),
      );
    }, ms);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}
