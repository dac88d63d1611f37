import { WebhookError } from "@svc-webhooks/core";

const limitMs = 10_000;

/**
 * Limits how long an operator waits: while BullMQ has no connection, its calls do not end.
 *
 * @throws WebhookError `queue_unavailable`
 */
export async function within<Result>(work: Promise<Result>): Promise<Result> {
  let timer;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new WebhookError(
          "queue_unavailable",
          "The server of the queue did not respond within 10 s. Check that it runs, and the `connection` of the queue. A change that was sent may still take place.",
        ),
      );
    }, limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
