import { WebhookError } from "@svc-webhooks/core";
import { assertPartition, shared } from "@svc-webhooks/core/engine";
import type { Enqueue, InboxJob } from "@svc-webhooks/core/inbox";
import { assertSetUp, type InboxQueue } from "./queue.js";
import { replyTo } from "./replies.js";
import { revive } from "./revive.js";

/** How often a delivery is stored while others remove and revive its job. */
const mostTries = 5;

/** Returns the function that stores deliveries in a queue. */
export function enqueueIn(queue: InboxQueue): Enqueue {
  const { boss, name, partitionBy } = queue;
  /** Verifies the queue before the first job. */
  const verify = shared(() => assertSetUp(queue));
  return async (job, call) => {
    const id = idOf(job);
    const partition = partitionBy && (partitionBy(call.event) ?? job.key);
    assertPartition(partition);
    await verify(call);
    const options = { id, ...(partition !== undefined && { singletonKey: partition }) };
    for (let tries = 0; tries < mostTries; tries += 1) {
      const sent = await replyTo(boss, () => boss.send(name, job, options));
      // A copy changes nothing, unless its job is dead, or has been removed since.
      if (sent !== null || (await revive(queue, id))) return;
      const [found] = await replyTo(boss, () => boss.findJobs(name, { id }));
      if (found && found.state !== "failed") return;
    }
    throw new WebhookError(
      "queue_conflict",
      `The job ${id} of the queue "${name}" was removed or refused each time it was stored, so the delivery was not accepted.`,
    );
  };
}

/** Returns the id of an event's job, so that the table of jobs refuses copies. */
const idOf = ({ key }: InboxJob): string =>
  key.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
