import { is, sql, type InboxQueue } from "../queue/queue.js";

/** The time after a run within which pg-boss usually settles the batch of the run, in milliseconds. */
const soonMs = 500;
/**
 * The interval at which a worker cleans up after jobs that pg-boss has marked as failed because their worker was
 * killed, in milliseconds.
 */
const passMs = 30_000;

/** Cleans up after pg-boss has settled a batch, and at regular intervals, until `close` is called. */
export interface AfterRuns {
  /**
   * Schedules a cleanup. Called when a job ends without being completed.
   *
   * @param root the id of the first job of an event that has died; undefined if the job will be retried
   */
  soon(root: string | undefined): void;
  close(): void;
}

/**
 * Starts the cleanup of a queue. With `partitionBy` and `afterDead: "continue"`, each pass removes the failed jobs,
 * because pg-boss runs no later job that has the key of a failed one. The letters of the failed jobs stay in the
 * dead-letter queue. With any options, each pass also removes the older letters of the events that have recently died
 * in this process: a redelivery and an operator may have run an event twice at the same time, so that it has more than
 * one letter.
 */
export async function afterRuns(queue: InboxQueue): Promise<AfterRuns> {
  const { name, dead, jobs, schema, partitionBy, holds } = queue;
  /** Maps the id of the first job of each event that has died in this process to the time of its death. */
  const died = new Map<string, number>();

  const openKeys = async () => {
    if (!partitionBy || holds) return;
    // Uses one statement, so that it keeps a job that a redelivery has revived. Does nothing if `deletion_seconds` is
    // 0, because a newer deployment has then set the queue to "hold".
    await sql(
      queue,
      `delete from ${jobs} where name = $1 and policy = 'key_strict_fifo' and ${is("=", "failed")}
        and exists (select 1 from ${schema}.queue where name = $1 and deletion_seconds > 0)`,
      [name],
    );
  };

  const removeOlderLetters = async () => {
    // Keeps each root for two passes, because pg-boss may settle a batch late.
    for (const [root, at] of died) if (performance.now() - at > 2 * passMs) died.delete(root);
    if (died.size === 0) return;
    await sql(
      queue,
      `delete from ${jobs} letter where name = $1 and ${is("<", "active")} and source_root_id = any($2::uuid[])
        and exists (
          select from ${jobs} newer where newer.name = $1 and ${is("<", "active", "newer.state")}
            and newer.source_root_id = letter.source_root_id
            and (newer.created_on, newer.id) > (letter.created_on, letter.id)
        )`,
      [dead, [...died.keys()]],
    );
  };

  // Ignores errors, because the next pass tries again.
  const tryAll = () => {
    openKeys().catch(() => {});
    removeOlderLetters().catch(() => {});
  };
  await openKeys();
  const passes = setInterval(tryAll, passMs).unref();
  let timer: NodeJS.Timeout | undefined;
  let isAgain = false;
  const arm = () => {
    isAgain = false;
    timer = setTimeout(() => {
      timer = undefined;
      tryAll();
      if (isAgain) arm();
    }, soonMs).unref();
  };
  return {
    soon(root) {
      if (root !== undefined) died.set(root, performance.now());
      if (timer) isAgain = true;
      else arm();
    },
    close() {
      clearInterval(passes);
      clearTimeout(timer);
    },
  };
}
