/** The parts of a BullMQ 6 `Queue` that an inbox uses. A `Queue` has them with any backend. */
export interface QueueLike {
  readonly backend: object;
  add(name: string, data: object, options: BullJobOptions): Promise<BullJob>;
  getJob(id: string): Promise<BullJob | undefined>;
  getJobState(id: string): Promise<string>;
  getJobs(types: BullState[], start: number, end: number, asc: boolean): Promise<BullJob[]>;
  /** Returns the ids of the jobs in some states, from index `start` to index `end`. */
  getRanges(types: BullState[], start: number, end: number, asc: boolean): Promise<string[]>;
  getJobCounts(...types: BullState[]): Promise<Record<string, number>>;
}

/** The BullMQ states that an inbox reads. */
export type BullState = "waiting" | "prioritized" | "delayed" | "active" | "failed";

/** The options of a job that an inbox adds. */
export interface BullJobOptions {
  jobId: string;
  attempts: number;
  backoff: { type: "fixed"; delay: number };
  removeOnComplete: { age: number; count: number };
  removeOnFail: boolean;
  stackTraceLimit: number;
}

/** The parts of a BullMQ `Job` that an inbox uses. */
export interface BullJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly timestamp: number;
  readonly attemptsMade: number;
  readonly failedReason?: string | null | undefined;
  /** The options of the job. A change applies to the next retry only. */
  opts: {
    attempts?: number | undefined;
    backoff?: number | object | undefined;
    stackTraceLimit?: number | undefined;
  };
  getState(): Promise<string>;
  moveToWait(token: string): Promise<unknown>;
  promote(): Promise<void>;
  updateData(data: object): Promise<void>;
  retry(state: "failed", options: { resetAttemptsMade: boolean }): Promise<void>;
  remove(): Promise<void>;
}
