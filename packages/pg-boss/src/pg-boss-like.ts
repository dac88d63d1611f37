/** The parts of a pg-boss 12 `PgBoss` that an inbox uses. */
export interface PgBossLike {
  start(options: { attempts: number }): Promise<unknown>;
  listenerCount(event: "error"): number;
  emit(event: "error", error: Error): boolean;
  once(event: "stopped", listener: () => void): unknown;
  removeListener(event: "stopped", listener: () => void): unknown;
  getDb(): BossDatabase;

  createQueue(name: string, settings: BossQueueSettings): Promise<void>;
  updateQueue(name: string, settings: Omit<BossQueueSettings, "policy">): Promise<void>;
  getQueue(name: string): Promise<BossQueue | null>;
  getInstances(): Promise<readonly BossInstance[]>;

  send(
    name: string,
    data: object,
    options: { id: string; singletonKey?: string },
  ): Promise<string | null>;
  work(
    name: string,
    options: BossWorkOptions,
    handler: (jobs: BossJob[]) => Promise<BossJobResult[]>,
  ): Promise<string>;
  notifyWorker(id: string): void;
  offWork(name: string, options: { id: string; wait: boolean }): Promise<void>;
  fail(name: string, jobs: BossJobAttempt[], output: object): Promise<unknown>;
  redrive(name: string, options: { ids: string[] }): Promise<number>;
  deleteJob(name: string, jobs: string[]): Promise<object>;
  findJobs(
    name: string,
    options: { id?: string; data?: object; queued?: boolean; after?: string; limit?: number },
  ): Promise<readonly BossJobRecord[]>;
}

/** A database connection, as pg-boss's `getDb` returns it. */
export interface BossDatabase {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** The settings of a queue, as pg-boss's `createQueue` accepts them. */
export interface BossQueueSettings {
  readonly policy?: string;
  readonly retentionSeconds?: number;
  readonly deleteAfterSeconds?: number;
  readonly deadLetter?: string;
  readonly heartbeatSeconds?: number;
  readonly expireInSeconds?: number;
  readonly retryLimit?: number;
  readonly retryDelay?: number;
  readonly retryBackoff?: boolean;
  readonly retryDelayMax?: number;
}

/** A queue, as pg-boss's `getQueue` returns it. */
export interface BossQueue {
  readonly createdOn: Date;
  readonly policy?: string;
}

/** A process, as pg-boss's `getInstances` returns it. */
export interface BossInstance {
  readonly live: boolean;
  readonly supervise: boolean;
  readonly poolMax: number | null;
  readonly workers: readonly { readonly queue: string; readonly localConcurrency: number }[];
}

/** One attempt of a job. pg-boss settles it only while no later attempt has started. */
export interface BossJobAttempt {
  id: string;
  retryCount: number;
}

/** A job, as pg-boss passes it to the handler of `work`. */
export interface BossJob extends BossJobAttempt {
  readonly retryLimit: number;
  /**
   * The id of the first job from which `redrive` made this job, in one or more steps. Null if `redrive` did not make
   * this job.
   */
  readonly sourceRootId: string | null;
  readonly data: unknown;
  /** Aborted when another worker has taken over the job, or the handler has run too long. */
  readonly signal: AbortSignal;
}

/** The result of one job of a batch. */
export interface BossJobResult {
  id: string;
  status: "completed" | "failed" | "deadletter";
  output?: object;
}

/** The options of pg-boss's `work`. */
export interface BossWorkOptions {
  readonly perJobResults: true;
  readonly includeMetadata: true;
  readonly batchSize: number;
  readonly pollingIntervalSeconds: number;
}

/** A job, as pg-boss's `findJobs` returns it. */
export interface BossJobRecord {
  readonly id: string;
  readonly data: unknown;
  readonly state: string;
  readonly retryCount: number;
  readonly startAfter: Date;
  readonly createdOn: Date;
  readonly output: unknown;
  readonly sourceId: string | null;
  readonly sourceRetryCount: number | null;
  readonly sourceOutput: unknown;
}
