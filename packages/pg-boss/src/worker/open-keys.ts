import { is, sql, type InboxQueue } from "../queue/queue.js";

/** The time in which pg-boss usually settles a batch. */
const soonMs = 500;
/** How often a worker looks for jobs that pg-boss has failed, after their worker was killed. */
const passMs = 30_000;

/** Opens keys until it is closed. */
export interface KeyOpener {
  /** Opens them when pg-boss has settled the batch that ends now. */
  openSoon(): void;
  close(): void;
}

/**
 * Opens the keys whose first job is dead, by removing that job: its letter is in the queue of dead letters. pg-boss by
 * itself would hold the key.
 */
export async function keepKeysOpen(queue: InboxQueue): Promise<KeyOpener> {
  const { name, jobs, schema, partitionBy, holds } = queue;
  if (!partitionBy || holds) return { openSoon() {}, close() {} };
  const open = async () => {
    // One statement, so that it leaves a job that a redelivery has revived. A queue that holds has a worker with "hold",
    // which was deployed while this one runs.
    await sql(
      queue,
      `delete from ${jobs} where name = $1 and policy = 'key_strict_fifo' and ${is("=", "failed")}
        and exists (select 1 from ${schema}.queue where name = $1 and deletion_seconds > 0)`,
      [name],
    );
  };
  // If it fails, the next pass tries again.
  const tryOpen = () => void open().catch(() => {});
  await open();
  const passes = setInterval(tryOpen, passMs).unref();
  let soon: NodeJS.Timeout | undefined;
  let isAgain = false;
  const arm = () => {
    isAgain = false;
    soon = setTimeout(() => {
      soon = undefined;
      tryOpen();
      if (isAgain) arm();
    }, soonMs).unref();
  };
  return {
    openSoon() {
      if (soon) isAgain = true;
      else arm();
    },
    close() {
      clearInterval(passes);
      clearTimeout(soon);
    },
  };
}
