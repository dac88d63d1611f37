import { systemClock, type Receiver } from "@svc-webhooks/core";
import { startLoop, type JobSource, type WorkLoop } from "@svc-webhooks/core/engine";
import { errorText, runJob, type RetryDelays, type Verdict } from "@svc-webhooks/core/inbox";
import type { Connection } from "../connection/connection.js";
import { sharedBy } from "../connection/shared.js";
import type { SqliteDatabase } from "../database.js";
import { leaseMs, type Jobs, type TakenJob } from "./jobs.js";

const heartbeatMs = Math.floor(leaseMs / 3);

/** How often a worker looks whether another process has changed the file. It reads shared memory, not the file. */
const pollMs = 50;

/** How long a job that the receiver has refused waits, in milliseconds. */
const refusedMs = 1_000;

/** The smallest step back of the clock that workers correct, in milliseconds. */
const leastStepMs = 1_000;

export interface WorkerOptions {
  readonly db: SqliteDatabase;
  readonly jobs: Jobs;
  readonly connection: Connection;
  readonly retry: RetryDelays;
  readonly holds: boolean;
  readonly concurrency: number;
  /** Whether a power loss may undo what the worker commits. */
  readonly isLazy: boolean;
  readonly onError: (error: unknown) => unknown;
}

/** Runs jobs as they become due, up to `concurrency` at a time. */
export function startWorker(
  options: WorkerOptions,
  receiver: Pick<Receiver, "resume">,
): Pick<WorkLoop, "stop"> {
  const { listeners } = sharedBy(options.db);
  const source = new FileSource(options, receiver, () => {
    // The version of the file does not change with commits of the own connection.
    for (const listener of listeners) if (listener !== wake) listener();
  });
  const loop = startLoop(source, options.concurrency);
  const wake = () => {
    source.look();
    loop.wake();
  };
  listeners.add(wake);
  const beat = () => void source.beat().then(wake, options.onError);
  const heartbeat = setInterval(beat, heartbeatMs);
  return {
    async stop(given) {
      // If the options are refused, the worker continues.
      await loop.stop(given);
      listeners.delete(wake);
      clearInterval(heartbeat);
    },
  };
}

/** The jobs of a queue, as one worker takes and settles them. */
class FileSource implements JobSource<TakenJob> {
  readonly clock = systemClock;
  readonly onError: WorkerOptions["onError"];
  readonly #options: WorkerOptions;
  readonly #receiver: Pick<Receiver, "resume">;
  readonly #wakeOthers: () => void;
  readonly #worker = crypto.randomUUID();
  readonly #active = new Set<TakenJob>();
  #version: unknown;
  /** No job is due before this time, in epoch milliseconds, unless the file changes. */
  #dueAt = -Infinity;
  #renewedAt = systemClock.monotonic();
  /** Whether a renewal waits for a locked file. */
  #isRenewing = false;
  /** The lowest difference so far between the clock of the machine and the monotonic one. */
  #offsetMs = Infinity;

  /** @param wakeOthers called when a job has ended, for the other workers of the connection */
  constructor(options: WorkerOptions, receiver: Pick<Receiver, "resume">, wakeOthers: () => void) {
    this.#options = options;
    this.#receiver = receiver;
    this.#wakeOthers = wakeOthers;
    this.onError = options.onError;
  }

  readonly nextMs = (): number => pollMs;

  /** Makes the next `take` look for jobs, although no other connection has changed the file. */
  look(): void {
    this.#dueAt = -Infinity;
  }

  readonly take = async (free: number): Promise<readonly TakenJob[]> => {
    const { jobs, connection, retry } = this.#options;
    const version = connection.glance(jobs.version);
    if (version === this.#version && Date.now() < this.#dueAt) return [];
    this.#version = version;
    this.#dueAt = connection.glance(() => jobs.nextDueAt()) ?? -Infinity;
    if (Date.now() < this.#dueAt) return [];
    const taken = await this.#write(() => {
      // After a freeze, the own leases have ended too. They are renewed, so that they do not count as a dead worker's.
      if (systemClock.monotonic() - this.#renewedAt >= heartbeatMs) this.#renew();
      return jobs.take(this.#worker, free, retry);
    });
    this.look();
    return taken;
  };

  readonly perform = async (
    job: TakenJob,
    signal: AbortSignal,
    isGivenBack: () => boolean,
  ): Promise<void> => {
    const { db, retry, isLazy } = this.#options;
    const { running } = sharedBy(db);
    const { key } = Object(job.data) as { readonly key?: unknown };
    const attempt = { number: job.attempts + 1, of: retry };
    this.#active.add(job);
    if (isLazy && typeof key === "string") running.add(key);
    try {
      const verdict = await runJob(this.#receiver, job.data, { attempt, signal });
      if (!isGivenBack()) await this.#settle(job, verdict, signal);
    } finally {
      this.#active.delete(job);
      running.delete(String(key));
      this.look();
      this.#wakeOthers();
    }
  };

  async #settle(job: TakenJob, verdict: Verdict, signal: AbortSignal): Promise<void> {
    const { jobs, connection, retry, holds } = this.#options;
    const worker = this.#worker;
    if (verdict.action === "done") {
      // A store in this file has removed the job with its commit. Another store has not.
      const isLeft = await connection.read(() => jobs.owns(worker, job), undefined);
      if (isLeft) await this.#write(() => jobs.remove(worker, job));
    } else if (verdict.action === "dead") {
      const text = errorText(verdict.error);
      await this.#write(() => jobs.bury(worker, job, text, retry.limit, holds));
    } else if (verdict.isUnused) {
      // A receiver that drains refuses the job again and again.
      const afterMs = signal.aborted ? 0 : refusedMs;
      await this.#write(() => jobs.giveBack(worker, job, afterMs));
    } else {
      const { afterMs = 0, error } = verdict;
      await this.#write(() => jobs.delay(worker, job, afterMs, errorText(error)));
    }
  }

  readonly giveBack = (given: readonly TakenJob[]): Promise<void> =>
    this.#write(() => given.forEach((job) => this.#options.jobs.giveBack(this.#worker, job, 0)));

  /** Renews the leases of the running jobs. An idle worker writes nothing. */
  async beat(): Promise<void> {
    const { jobs, connection } = this.#options;
    if (this.#isRenewing) return;
    const isAhead = this.#isSetBack() && connection.glance(jobs.hasLater) !== false;
    if (this.#active.size === 0 && !isAhead) return;
    this.#isRenewing = true;
    try {
      await this.#write(() => {
        this.#renew();
        if (isAhead) jobs.followClock();
      });
    } finally {
      this.#isRenewing = false;
    }
  }

  #renew(): void {
    for (const job of this.#active) this.#options.jobs.extend(this.#worker, job);
    this.#renewedAt = systemClock.monotonic();
  }

  /** Returns whether the clock was set back. The first call returns true: it may have been set back before. */
  #isSetBack(): boolean {
    const offsetMs = Date.now() - systemClock.monotonic();
    const isBack = this.#offsetMs - offsetMs > leastStepMs;
    this.#offsetMs = isBack ? offsetMs : Math.min(this.#offsetMs, offsetMs);
    return isBack;
  }

  async #write<Result>(step: () => Result): Promise<Result> {
    const { connection, isLazy } = this.#options;
    return connection.write(step, undefined, isLazy);
  }
}
