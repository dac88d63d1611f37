import { serializeDelivery } from "@svc-webhooks/core";
import type { Enqueue, InboxJob } from "@svc-webhooks/core/inbox";
import { bindingOf } from "./binding.js";
import type { QueueLike } from "./queue-like.js";

/**
 * The largest body that always fits: in base64, it takes 120,000 bytes of a job, and the sender's headers may take
 * 4,500 of the rest.
 */
export const maxBodyBytes = 90_000;

/** A message has up to 128,000 bytes, of which Cloudflare uses about 100, and the error of a dead letter up to 1,600. */
const maxJobBytes = 126_000;

/** The longest type in a job, for lists. The body has the whole type. */
const longestType = 256;

const utf8 = new TextEncoder();

const isSmall = (job: InboxJob) => utf8.encode(JSON.stringify(job)).length <= maxJobBytes;

/** Sends each job as a message of its own. The queue has no ids, so copies of a delivery are several messages. */
export const enqueueIn =
  (queue: () => QueueLike): Enqueue =>
  async (given) => {
    let job = { ...given, type: given.type.slice(0, longestType) };
    // JSON escapes quotes and backslashes, so text may take twice the bytes of its body.
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
