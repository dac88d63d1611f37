import { WebhookError } from "@svc-webhooks/core";
import { assertPartition } from "@svc-webhooks/core/engine";
import type { Enqueue, InboxJob } from "@svc-webhooks/core/inbox";
import { assertSetUp, type InboxQueue } from "./queue.js";
import { replyTo } from "./replies.js";
import { revive } from "./revive.js";
import { shared } from "./shared.js";

/** The maximum number of attempts to store a delivery while other processes remove and revive its job. */
const mostTries = 5;

/** Returns the function that stores deliveries in a queue. */
export function enqueueIn(queue: InboxQueue): Enqueue {
  const { boss, name, partitionBy } = queue;
  /** Checks, until the check has succeeded once, that the queue is set up. */
  const verify = shared(() => assertSetUp(queue));
  return async (job, call) => {
    const id = idOf(job);
    const partition = partitionBy && (partitionBy(call.event) ?? job.key);
    assertPartition(partition);
    await verify(call);
    const options = { id, ...(partition !== undefined && { singletonKey: partition }) };
    for (let tries = 0; tries < mostTries; tries += 1) {
      const sent = await replyTo(boss, () => boss.send(name, job, options));
      // A copy of a delivery changes nothing, except that a dead job is revived, and a removed one is stored again.
      if (sent !== null || (await revive(queue, id))) return;
      const [bossJob] = await replyTo(boss, () => boss.findJobs(name, { id }));
      if (bossJob && bossJob.state !== "failed") return;
    }
    throw new WebhookError(
      "queue_conflict",
      `The job ${id} of the queue "${name}" was removed or refused each time it was stored, so the delivery was not accepted.`,
    );
  };
}

/** Returns the id of an event's job: its key as a UUID, so that the table of jobs refuses copies. */
const idOf = ({ key }: InboxJob): string =>
  key.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
