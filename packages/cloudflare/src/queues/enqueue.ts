import { serializeDelivery } from "@svc-webhooks/core";
import type { Enqueue, InboxJob } from "@svc-webhooks/core/inbox";
import { bindingOf } from "./binding.js";
import type { QueueLike } from "./queue-like.js";

/**
 * The size in bytes of the largest body that fits into a message together with headers of up to 4,500 bytes. In base64,
 * such a body takes 120,000 of the largest job's 126,000 bytes.
 */
export const maxBodyBytes = 90_000;

/**
 * The largest job, in bytes. A message may have 128,000 bytes. Cloudflare uses about 100 of them, and the error in a
 * dead letter uses up to 1,600.
 */
const maxJobBytes = 126_000;

/**
 * The maximum length of a job's `type`, in characters. Longer types are cut. Lists and metrics use the cut type; the
 * body contains the complete one.
 */
const longestType = 256;

const utf8 = new TextEncoder();

const isSmall = (job: InboxJob) => utf8.encode(JSON.stringify(job)).length <= maxJobBytes;

/**
 * Returns a function that sends each job as a message, even if it is a copy: Cloudflare Queues detects no duplicates.
 */
export const enqueueIn =
  (queue: () => QueueLike): Enqueue =>
  async (original) => {
    let job = { ...original, type: original.type.slice(0, longestType) };
    // Falls back to base64, because JSON escapes can make a text larger than its base64 form.
    if (!isSmall(job)) job = inBase64(job);
    if (!isSmall(job)) {
      throw new Error(
        "The headers of this delivery leave no room for its body in a message. Lower `maxBodyBytes` of the receiver.",
      );
    }
    await bindingOf("queue", queue).send(job, { contentType: "json" });
  };

function inBase64(job: InboxJob): InboxJob {
  if (job.base64) return job;
  const delivery = { method: "POST", headers: {}, body: utf8.encode(job.body) };
  const { body } = JSON.parse(serializeDelivery(delivery)) as { readonly body: string };
  return { ...job, body, base64: true };
}
