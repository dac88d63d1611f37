import type { AnyEvent } from "@svc-webhooks/core";
import { assertPartition } from "@svc-webhooks/core/engine";
import type { Enqueue } from "@svc-webhooks/core/inbox";
import type { Connection } from "../connection/connection.js";
import { bytesOf } from "../store/wire.js";
import type { Jobs } from "./jobs.js";

interface Waiting {
  readonly signal: AbortSignal;
  readonly add: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns the function that stores deliveries. Those that arrive before the next commit share it, so the disk does not
 * limit their number.
 */
export function enqueueIn(
  jobs: Jobs,
  connection: Connection,
  {
    partitionBy,
    assertRoom,
    changed,
  }: {
    readonly partitionBy: ((event: AnyEvent) => string | undefined) | undefined;
    readonly assertRoom: () => void;
    readonly changed: () => void;
  },
): Enqueue {
  let waiting: Waiting[] = [];

  async function commit(): Promise<void> {
    const batch = waiting;
    waiting = [];
    try {
      // The deadline of the last delivery: by then, those of all have passed.
      await connection.write(() => batch.forEach(({ add }) => add()), batch.at(-1));
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const { resolve } of batch) resolve();
    changed();
  }

  return async (job, { event, signal }) => {
    const key = bytesOf(job.key);
    const part = partitionBy?.(event);
    assertPartition(part);
    // A copy writes nothing, so it is accepted while the file is locked or the disk is full.
    if (connection.glance(() => jobs.isKnown(key))) return;
    assertRoom();
    const text = JSON.stringify(job);
    const add = () => jobs.add(key, part, text);
    await new Promise<void>((resolve, reject) => {
      const length = waiting.push({ signal, add, resolve, reject });
      if (length === 1) setImmediate(() => void commit());
    });
  };
}
