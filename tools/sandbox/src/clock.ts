export const clockModes = ["real", "manual", "accelerated"] as const;

export type ClockMode = (typeof clockModes)[number];

/** A piece of scheduled work: its kind, and the id of the record that it belongs to. */
export interface DueItem {
  readonly kind: "attempt" | "send" | "timeout" | "delay";
  readonly id: string;
}

/** The sandbox's clock, on which the service schedules all future work. */
export interface SandboxClock {
  readonly mode: ClockMode;
  /** Returns the clock's time, in epoch milliseconds. */
  readonly now: () => number;
  /**
   * How far the clock is ahead of real time in real mode, in milliseconds; negative if behind. 0 in the other modes.
   */
  readonly offsetMs: number;
  /** The time of the next scheduled item, in epoch milliseconds, or undefined if nothing is scheduled. */
  readonly nextDue: number | undefined;
  /**
   * Moves time forward by `ms` and runs all work that becomes due, each item at its own time. Resolves when that work
   * has finished. If none of it finishes for `patienceMs` of real time (a clock option, 1,000 by default), the clock
   * stops waiting for it. On a manual clock, advancing by at least the time limit of attempts (A-10, 15 s by default)
   * then times out an attempt that is still running, so raise `patienceMs` for a slow receiver. Rejects with RangeError
   * if `ms` is negative, is not finite or leads beyond the year 9999.
   */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Moves time to the next scheduled item, and runs it as `advance` does. Resolves to the item, or to undefined if
   * nothing is scheduled.
   */
  readonly advanceToNext: () => Promise<DueItem | undefined>;
}

/** The clock as the other parts of the sandbox use it. */
export interface Scheduler extends SandboxClock {
  /**
   * Schedules `run` for `time`, or for {@link lastTime} if that is earlier. `run` is never called before this call
   * returns. Returns a function that cancels the run.
   */
  readonly at: (time: number, item: DueItem, run: () => unknown) => () => void;
  /** Cancels scheduled attempts and scheduled steps of sends, for a reset or a rewind. */
  readonly clear: () => void;
  /** Stops a move of the clock from waiting for an item's running work. Call it if that work waits for the clock. */
  readonly park: (id: string) => void;
  readonly setMode: (mode: ClockMode, speed?: number) => void;
  readonly speed: number;
  /** Runs `work` when all moves of the clock have finished. Moves that begin meanwhile wait for it. */
  readonly afterMoves: <Result>(work: () => Result | Promise<Result>) => Promise<Result>;
  /** Sets the clock back or forward to `state`, and continues from there. Ends all delays that faults have caused. */
  readonly rewind: (state: ClockState) => void;
  /**
   * Restores the clock after a restart. Unless the clock is manual, it also advances, at its speed, by the time that
   * the process was down. Its time is then at least `newest`, the newest time in the records.
   */
  readonly restore: (state: ClockState, newest?: number) => void;
  /** In real mode, moves a clock that is behind real time forward to it. Otherwise, does nothing. */
  readonly catchUp: () => void;
  readonly state: () => ClockState;
  readonly close: () => void;
}

export interface ClockOptions {
  readonly mode?: ClockMode | undefined;
  /** The speed of an accelerated clock: 60, the default, is 60 times as fast as real time. */
  readonly speed?: number | undefined;
  /** The clock's initial time, in epoch milliseconds. Default: now. */
  readonly start?: number | undefined;
  /**
   * How long a move of the clock waits for receivers while no attempt finishes, in real milliseconds: 1 to 600,000,
   * 1,000 by default. The clock then continues to the next due time. Only receivers that do not respond cause the full
   * wait, and at most once for each of their attempts.
   */
  readonly patienceMs?: number | undefined;
}

export interface ClockState {
  readonly mode: ClockMode;
  readonly speed: number;
  /** The clock's time, in epoch milliseconds, including a fraction. */
  readonly now: number;
  /** The real time when the clock showed `now`, in epoch milliseconds. */
  readonly wall: number;
}
