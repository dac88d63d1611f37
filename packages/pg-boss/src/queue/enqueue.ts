import { WebhookError } from "@svc-webhooks/core";
import type { Enqueue, InboxJob } from "@svc-webhooks/core/inbox";
import { assertSetUp, type InboxQueue } from "./queue.js";
import { revive } from "./revive.js";

/** How often a delivery is stored while others remove and revive its job. */
const mostTries = 5;

/** Returns the function that stores deliveries in a queue. */
export function enqueueIn(queue: InboxQueue): Enqueue {
  const { boss, name, partitionBy } = queue;
  let verified: Promise<void> | undefined;
  /** Verifies the queue before the first job. The next delivery repeats a verification that failed. */
  const verify = async () => {
    verified ??= assertSetUp(queue);
    try {
      await verified;
    } catch (error) {
      verified = undefined;
      throw error;
    }
  };
  return async (job, { event }) => {
    const id = idOf(job);
    const partition = partitionBy && (partitionBy(event) ?? job.key);
    if (partition !== undefined) assertPartition(partition);
    await verify();
    for (let tries = 0; tries < mostTries; tries += 1) {
      const sent = await boss.send(name, job, {
        id,
        ...(partition !== undefined && { singletonKey: partition }),
      });
      // A copy changes nothing, unless its job is dead, or has been removed since.
      if (sent !== null || (await revive(queue, id))) return;
      const [found] = await boss.findJobs(name, { id });
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

/** The characters that PostgreSQL does not store: NUL and half a character. */
const unstorable = /[\0\p{Surrogate}]/u;

function assertPartition(partition: unknown): void {
  // A longer one does not fit into an index of PostgreSQL.
  if (
    typeof partition === "string" &&
    partition !== "" &&
    partition.length <= 500 &&
    !unstorable.test(partition)
  ) {
    return;
  }
  // A promise that rejects would end the process.
  void Promise.resolve(partition).catch(() => {});
  throw new WebhookError(
    "invalid_partition",
    "`partitionBy` must return a string of 1 to 500 characters without NUL and without lone surrogates, or undefined for an event without order. It must not return a promise.",
  );
}
