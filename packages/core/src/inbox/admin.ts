/**
 * The state of a job, as operators see it. `ready`: it waits for a worker, or for an earlier job of the same
 * `partitionBy` key; `delayed`: it waits for its next attempt; `active`: it is running; `dead`: it is a dead letter.
 */
export type InboxState = "ready" | "delayed" | "active" | "dead";

/** The statistics of an inbox. */
export interface InboxStats {
  /** The number of jobs that wait for a worker, or for an earlier job of the same `partitionBy` key. */
  readonly ready: number;
  /** The number of jobs that wait for their next attempt. */
  readonly delayed: number;
  /** The number of jobs that are running. */
  readonly active: number;
  /** The number of dead letters. */
  readonly dead: number;
  /** The age of the oldest ready job, in milliseconds; undefined if there is none. */
  readonly oldestMs: number | undefined;
  /**
   * The number of `partitionBy` keys whose later events wait behind a dead letter. Absent from queues without order.
   */
  readonly heldKeys?: number | undefined;
}

/** A job as an operator sees it. */
export interface InboxEntry {
  /** The queue's own id of the job. */
  readonly id: string;
  /** The `idempotencyKey` of the event. */
  readonly key: string;
  readonly type: string;
  readonly deliveryId: string;
  /** The origin of the event. Absent from deliveries that a receiver has verified. */
  readonly source?: string | undefined;
  readonly state: InboxState;
  /** When the delivery arrived, in epoch milliseconds. */
  readonly receivedAt: number;
  /** The number of attempts that have ended. */
  readonly attempts: number;
  /** The message of the error of the last failed attempt. Absent if no attempt has failed. */
  readonly error?: string | undefined;
  /** Returns the exact body. It may contain personal data. */
  body(): Uint8Array;
}

/** The parameters of `InboxAdmin.list`. */
export interface InboxQuery {
  readonly state: InboxState;
  /** Lists only events of this type. Default: all. */
  readonly type?: string | undefined;
  /**
   * Lists only jobs after the job with this id. Default: from the start. A queue may refuse an id that is no longer in
   * the list (`invalid_option`).
   */
  readonly after?: string | undefined;
  /** The maximum number of jobs to return, from 0. Default: all. */
  readonly limit?: number | undefined;
}

/** The parameters of `InboxAdmin.release`. */
export interface ReleaseOptions {
  /** The number of dead letters to release each second, 0.001 … 1,000. */
  readonly perSecond: number;
  /** The maximum number of dead letters to release, from 0. Default: all. */
  readonly limit?: number | undefined;
  /** Stops the release once this many released jobs have failed again, from 1. Default: no limit. */
  readonly stopAfter?: number | undefined;
  /** Releases only events of this type. Default: all. */
  readonly type?: string | undefined;
  /** Stops the release when it is aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The operations that an inbox offers to operators. `id` is the queue's own id of a job. If a call to the queue's
 * server gets no reply within 10 s, the method (with `list`, the iteration) rejects with a `WebhookError`
 * `queue_unavailable`.
 */
export interface InboxAdmin {
  stats(): Promise<InboxStats>;
  /**
   * Lists the jobs in one state, in the queue's own order. Ready jobs that have not been attempted yet are listed
   * oldest first. A job that leaves the state meanwhile is skipped, or listed as it was before.
   */
  list(query: InboxQuery): AsyncIterable<InboxEntry>;
  /** Resolves to the job, or to undefined if there is none. */
  get(id: string): Promise<InboxEntry | undefined>;
  /**
   * Runs a dead letter again, with its attempts counted from zero, or makes a delayed job ready immediately. Resolves
   * to false for any other job.
   */
  retry(id: string): Promise<boolean>;
  /**
   * Removes a dead letter. Resolves to false for any other job. The event's record stays parked or failed. `reason` is
   * passed to the queue's option `onDiscard`, if set.
   */
  discard(id: string, reason: string): Promise<boolean>;
  /**
   * Runs dead letters again at a limited rate. Each released job gets all its attempts again. Resolves to `released`,
   * the number of released jobs, and `failedAgain`, the number of these jobs that have failed again, whether they are
   * `delayed` or `dead` now.
   */
  release(
    options: ReleaseOptions,
  ): Promise<{ readonly released: number; readonly failedAgain: number }>;
}
