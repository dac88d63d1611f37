import { is, sql, type InboxQueue } from "../queue/queue.js";

/** The time in which pg-boss usually settles a batch. */
const soonMs = 500;
/** How often a worker looks for jobs that pg-boss has failed, after their worker was killed. */
const passMs = 30_000;

/** Does what follows when pg-boss has settled a batch, until it is closed. */
export interface AfterRuns {
  /**
   * Called when a batch ends in which a job was not completed.
   *
   * @param root the first job of an event that is dead
   */
  soon(root: string | undefined): void;
  close(): void;
}

/**
 * Opens the keys whose first job is dead, by removing that job: its letter is in the queue of dead letters. pg-boss by
 * itself would hold the key. And removes all letters of an event but the newest: a redelivery and an operator may have
 * made the event run twice at the same time.
 */
export async function afterRuns(queue: InboxQueue): Promise<AfterRuns> {
  const { name, dead, jobs, schema, partitionBy, holds } = queue;
  /** The first jobs of the events that have died here, with the times of their deaths. */
  const died = new Map<string, number>();

  const openKeys = async () => {
    if (!partitionBy || holds) return;
    // One statement, so that it leaves a job that a redelivery has revived. A queue that holds has a worker with "hold",
    // which was deployed while this one runs.
    await sql(
      queue,
      `delete from ${jobs} where name = $1 and policy = 'key_strict_fifo' and ${is("=", "failed")}
        and exists (select 1 from ${schema}.queue where name = $1 and deletion_seconds > 0)`,
      [name],
    );
  };

  const removeOlderLetters = async () => {
    // pg-boss may settle a batch late.
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

  // If it fails, the next pass tries again.
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
