import type { AnyEvent, Clock } from "@svc-webhooks/core";
import { assertPartition, entryOf } from "@svc-webhooks/core/engine";
import {
  errorText,
  type InboxEntry,
  type InboxJob,
  type InboxState,
  type InboxStats,
  type RetryDelays,
  type Verdict,
} from "@svc-webhooks/core/inbox";

interface Job {
  readonly id: string;
  /** The data as JSON, so that the queue, like any real queue, has no reference to the caller's object. */
  readonly data: string;
  /** The key, or a unique symbol if there is none. Jobs with the same partition run one at a time. */
  readonly partition: string | symbol;
  /** The time at which the job was stored, in epoch milliseconds. */
  readonly storedAt: number;
  /** The time from which the job may run, in milliseconds of the monotonic clock. */
  dueAt: number;
  attempts: number;
  isDead: boolean;
  error: string | undefined;
  /** The current run, which alone may settle the job. Undefined if the job is not running. */
  run: Run | undefined;
}

/** One run of a job. Its result counts unless the job is given back before the run ends. */
export interface Run {
  readonly data: unknown;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
}

/** The options of `MemoryInbox.add`. */
export interface MemoryJobOptions {
  /** The event that is passed to `partitionBy`. Default: none, so that the job is independent of other jobs. */
  readonly event?: AnyEvent | undefined;
  /** The id of the job. Default: the key in its data, or a new id if there is none. */
  readonly id?: string | undefined;
}

export interface QueueOptions {
  readonly partitionBy: ((event: AnyEvent) => string | undefined) | undefined;
  readonly clock: Clock;
  readonly holds: boolean;
  readonly retry: RetryDelays;
}

/** The jobs of an inbox in memory, oldest first. */
export class MemoryQueue {
  readonly clock: Clock;
  readonly retry: RetryDelays;
  readonly #options: QueueOptions;
  readonly #jobs = new Map<string, Job>();
  readonly #listeners = new Set<() => void>();

  constructor(options: QueueOptions) {
    this.clock = options.clock;
    this.retry = options.retry;
    this.#options = options;
  }

  /** Stores a job, unless a job with the same id exists. If the existing job is dead, makes it ready again. */
  add(data: object, { event, id = idOf(data) }: MemoryJobOptions): void {
    const { partitionBy } = this.#options;
    const key = event && partitionBy?.(event);
    assertPartition(key);
    if (this.#jobs.has(id)) {
      this.revive(id);
      return;
    }
    const now = this.clock.monotonic();
    this.#jobs.set(id, {
      id,
      data: JSON.stringify(data),
      partition: key ?? Symbol("independent"),
      storedAt: this.clock.now(),
      dueAt: now,
      attempts: 0,
      isDead: false,
      error: undefined,
      run: undefined,
    });
    this.#changed();
  }

  /** Calls `listener` whenever a job may have become ready. The returned function removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Starts a run of the oldest job that can run now. Returns undefined if no job can. */
  take(): Run | undefined {
    const jobs = [...this.#jobs.values()];
    const taken = new Set(jobs.filter(({ run }) => run).map(({ partition }) => partition));
    for (const job of jobs) {
      if (job.isDead ? !this.#options.holds : job.run) continue;
      if (!job.isDead && !taken.has(job.partition) && job.dueAt <= this.clock.monotonic()) {
        job.run = { data: JSON.parse(job.data), attempt: job.attempts + 1 };
        return job.run;
      }
      taken.add(job.partition);
    }
    return undefined;
  }

  /** Starts runs of up to `count` jobs that can run now, oldest first. */
  takeUpTo(count: number): readonly Run[] {
    const runs: Run[] = [];
    while (runs.length < count) {
      const run = this.take();
      if (!run) break;
      runs.push(run);
    }
    return runs;
  }

  /** Returns the time until the next waiting job is due, in milliseconds, or undefined if no job waits. */
  nextMs(): number | undefined {
    const now = this.clock.monotonic();
    const waits = [...this.#jobs.values()]
      .filter(({ isDead, run, dueAt }) => !isDead && !run && dueAt > now)
      .map(({ dueAt }) => dueAt - now);
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }

  /** Ends a run and applies its verdict to the job. Does nothing if the job was given back. */
  settle(run: Run, verdict: Verdict): void {
    const job = this.#jobOf(run);
    if (!job) return;
    job.run = undefined;
    if (verdict.action === "done") this.#jobs.delete(job.id);
    else if (verdict.action === "dead" || !verdict.isUnused) this.#fail(job, verdict);
    this.#changed();
  }

  #fail(job: Job, verdict: Exclude<Verdict, { action: "done" }>): void {
    job.attempts += 1;
    job.error = errorText(verdict.error);
    job.isDead = verdict.action === "dead";
    if (verdict.action === "retry") job.dueAt = this.clock.monotonic() + (verdict.afterMs ?? 0);
  }

  /** Makes the job of an unfinished run ready again. From then on, the result of this run does not count. */
  giveBack(run: Run): void {
    const job = this.#jobOf(run);
    if (job) job.run = undefined;
    this.#changed();
  }

  #jobOf(run: Run): Job | undefined {
    return [...this.#jobs.values()].find((job) => job.run === run);
  }

  /** Makes a dead letter ready again, with a full number of attempts. Returns false if no dead letter has this id. */
  revive(id: string): boolean {
    const job = this.#jobs.get(id);
    if (!job?.isDead) return false;
    Object.assign(job, { isDead: false, attempts: 0, error: undefined });
    this.#makeDue(job);
    return true;
  }

  /** Makes a job that waits for its next attempt ready now. Returns false if no such job has this id. */
  hasten(id: string): boolean {
    const job = this.#jobs.get(id);
    if (!job || this.#stateOf(job) !== "delayed") return false;
    this.#makeDue(job);
    return true;
  }

  #makeDue(job: Job): void {
    job.dueAt = this.clock.monotonic();
    this.#changed();
  }

  /** Removes a dead letter. Returns false if no dead letter has this id. */
  discard(id: string): boolean {
    if (!this.#jobs.get(id)?.isDead) return false;
    this.#jobs.delete(id);
    this.#changed();
    return true;
  }

  entry(id: string): InboxEntry | undefined {
    const job = this.#jobs.get(id);
    return job && this.#entryOf(job);
  }

  entries(): readonly InboxEntry[] {
    return Array.from(this.#jobs.values(), (job) => this.#entryOf(job));
  }

  stats(): InboxStats {
    const jobs = [...this.#jobs.values()];
    const of = (state: InboxState) => jobs.filter((job) => this.#stateOf(job) === state);
    const [oldest] = of("ready");
    return {
      ready: of("ready").length,
      delayed: of("delayed").length,
      active: of("active").length,
      dead: of("dead").length,
      oldestMs: oldest && this.clock.now() - oldest.storedAt,
      ...(this.#options.partitionBy && { heldKeys: this.#heldKeys(jobs) }),
    };
  }

  #heldKeys(jobs: readonly Job[]): number {
    const dead = jobs.filter(({ isDead }) => isDead && this.#options.holds);
    const held = dead.filter(({ partition }) =>
      jobs.some((job) => job.partition === partition && !job.isDead),
    );
    return new Set(held.map(({ partition }) => partition)).size;
  }

  #stateOf({ isDead, run, dueAt }: Job): InboxState {
    if (isDead) return "dead";
    if (run) return "active";
    return dueAt > this.clock.monotonic() ? "delayed" : "ready";
  }

  #entryOf(job: Job): InboxEntry {
    const { id, attempts, error } = job;
    return {
      id,
      state: this.#stateOf(job),
      ...entryOf(JSON.parse(job.data), job.storedAt),
      attempts,
      ...(error !== undefined && { error }),
    };
  }
}

/** Returns the key in a job's data, or a new id if it has none. */
function idOf(data: object): string {
  const { key } = data as Partial<InboxJob>;
  return typeof key === "string" ? key : crypto.randomUUID();
}
