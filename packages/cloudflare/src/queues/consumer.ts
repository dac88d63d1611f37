import type { Receiver } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import { runJob, type RetryDelays } from "@svc-webhooks/core/inbox";
import { bindingOf } from "./binding.js";
import { letterOf } from "./dead-letter.js";
import type { QueuesConsumerOptions } from "./options.js";
import type { QueueBatch, QueueMessage } from "./queue-like.js";

/** The longest delay that Cloudflare Queues accepts, in milliseconds: 12 hours. */
export const longestDelayMs = 43_200_000;

type Complete = {
  readonly [Name in keyof QueuesConsumerOptions]-?: NonNullable<QueuesConsumerOptions[Name]>;
};

export interface Consuming extends Complete {
  readonly retry: RetryDelays;
}

/** Runs the jobs of a batch concurrently, and settles each message separately. */
export async function consume(
  receiver: Pick<Receiver, "resume">,
  { messages }: QueueBatch,
  options: Consuming,
): Promise<void> {
  const signal = AbortSignal.timeout(options.waitMs);
  await Promise.all(messages.map((message) => settle(receiver, message, signal, options)));
}

async function settle(
  receiver: Pick<Receiver, "resume">,
  message: QueueMessage,
  signal: AbortSignal,
  { retry, dead, logger }: Consuming,
): Promise<void> {
  const { body, attempts } = message;
  // Capped, because Cloudflare also counts attempts that only waited for another run's lease or for the store. Each
  // attempt beyond the limit runs as the last one.
  const attempt = { number: Math.min(attempts, retry.limit), of: retry };
  const verdict = await runJob(receiver, body, { signal, attempt });
  if (verdict.action === "done") return message.ack();
  const { error } = verdict;
  if (verdict.action === "dead") {
    try {
      // Sends another application's data in the V8 format, because JSON could change it.
      const contentType = codeOf(error) === "invalid_job" ? "v8" : "json";
      await bindingOf("dead", dead).send(letterOf(error, attempts, body), { contentType });
      return message.ack();
    } catch (cause) {
      logger.error(
        `svc-webhooks: The dead-letter queue did not store a dead letter, so its message will be retried, and its handler will run again. Check the binding that \`dead\` returns. ${String(cause)}`,
      );
    }
  }
  const { afterMs = retry.delayMs(attempts) } = verdict as { readonly afterMs?: number };
  message.retry({ delaySeconds: Math.ceil(Math.min(afterMs, longestDelayMs) / 1_000) });
}
