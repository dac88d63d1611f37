import type { Clock } from "../clock.js";
import { isPromise, tryThen } from "../lib/maybe-promise.js";
import { neverThrows } from "../lib/never-throws.js";
import { longestDelayMs } from "../lib/times.js";
import type { MaybePromise } from "../store.js";
import { within } from "./engine-call.js";
import { deadlineOf } from "./engine-options.js";

/** The jobs of {@link startLoop}. */
export interface JobSource<Job> {
  readonly clock: Clock;
  /** Takes up to `free` jobs that may run now. If it fails, the loop calls it again after `nextMs`. */
  readonly take: (free: number) => MaybePromise<readonly Job[]>;
  /** Returns the milliseconds until the next call of `take`, or undefined to wait for `wake`. Must not throw. */
  readonly nextMs: () => number | undefined;
  /**
   * Runs a job and settles it, unless `isGivenBack` says that its result no longer counts. `signal` is aborted when the
   * worker stops.
   */
  readonly perform: (
    job: Job,
    signal: AbortSignal,
    isGivenBack: () => boolean,
  ) => MaybePromise<unknown>;
  /** Makes jobs that have not ended before the deadline of `stop` ready again. */
  readonly giveBack: (jobs: readonly Job[]) => MaybePromise<unknown>;
  /** Receives the errors of the other functions. */
  readonly onError: (error: unknown) => unknown;
}

/** A worker that {@link startLoop} has started. */
export interface WorkLoop {
  /** Takes jobs now, because some may have become ready. */
  readonly wake: () => void;
  /**
   * Takes no more jobs. Resolves when the running jobs have ended or, after `deadlineMs`, when the others have been
   * given back, for which it waits 1 s at most. Rejects only for invalid options.
   */
  readonly stop: (options: { readonly deadlineMs: number }) => Promise<void>;
}

interface Run<Job> {
  readonly job: Job;
  isGivenBack: boolean;
}

/** How long `stop` waits for jobs to be given back, in milliseconds. */
const giveBackMs = 1_000;

/**
 * For queues: takes jobs from `source` as they become ready, and runs up to `concurrency` of them at a time. Never
 * calls `take` while an earlier call is pending.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { systemClock } from "svc-webhooks";
 * import { startLoop } from "@svc-webhooks/core/engine";
 *
 * const ready = ["a", "b"];
 * const ran: string[] = [];
 * const source = {
 *   clock: systemClock,
 *   take: (free: number) => ready.splice(0, free),
 *   nextMs: () => undefined,
 *   perform: (job: string) => ran.push(job),
 *   giveBack: (jobs: readonly string[]) => ready.unshift(...jobs),
 *   onError: console.error,
 * };
 * const loop = startLoop(source, 16);
 * await loop.stop({ deadlineMs: 1_000 });
 * assert.deepEqual(ran, ["a", "b"]);
 * ```
 */
export function startLoop<Job>(source: JobSource<Job>, concurrency: number): WorkLoop {
  const { clock } = source;
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = neverThrows(source.onError, () => {});
  const running = new Map<Run<Job>, Promise<void>>();
  let taking: Promise<void> | undefined;
  let isTaking = false;
  let isWoken = false;
  let cancelTimer: (() => void) | undefined;
  let stopped: Promise<void> | undefined;

  function wake(): void {
    isWoken = true;
    if (isTaking || signal.aborted) return;
    isTaking = true;
    pump();
  }

  /** Takes jobs until no `wake` has come since the last call of `take`, or until a call is pending. */
  function pump(): void {
    cancelTimer?.();
    while (isWoken && running.size < concurrency && !signal.aborted) {
      isWoken = false;
      const taken = tryThen(() => source.take(concurrency - running.size), begin, report);
      if (isPromise(taken)) {
        taking = taken.then(pump);
        return;
      }
    }
    taking = undefined;
    isTaking = false;
    // While all places are taken, the end of a run wakes the loop.
    if (signal.aborted || running.size >= concurrency) return;
    const nextMs = source.nextMs();
    if (nextMs !== undefined)
      cancelTimer = clock.after(Math.min(Math.max(nextMs, 0), longestDelayMs), wake);
  }

  function begin(jobs: readonly Job[]): MaybePromise<void> {
    if (signal.aborted) return giveBack(jobs);
    for (const job of jobs) {
      const run = { job, isGivenBack: false };
      running.set(run, perform(run));
    }
  }

  async function perform(run: Run<Job>): Promise<void> {
    try {
      await source.perform(run.job, signal, () => run.isGivenBack);
    } catch (error) {
      report(error);
    }
    running.delete(run);
    wake();
  }

  async function giveBack(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    try {
      await within(source.giveBack(jobs), giveBackMs);
    } catch (error) {
      report(error);
    }
  }

  async function end(deadlineMs: number): Promise<void> {
    cancelTimer?.();
    stopping.abort();
    let cancelDeadline: (() => void) | undefined;
    const deadline = new Promise<void>((resolve) => {
      if (deadlineMs === 0) resolve();
      else cancelDeadline = clock.after(deadlineMs, resolve);
    });
    await Promise.race([Promise.all([taking, ...running.values()]), deadline]);
    cancelDeadline?.();
    const left = [...running.keys()];
    for (const run of left) run.isGivenBack = true;
    await giveBack(left.map(({ job }) => job));
  }

  wake();
  return {
    wake,
    stop(options) {
      try {
        const deadlineMs = deadlineOf(options);
        return (stopped ??= end(deadlineMs));
      } catch (error) {
        return Promise.reject(error);
      }
    },
  };
}
