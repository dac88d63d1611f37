export type ClockMode = "real" | "manual" | "accelerated";

/** The item that a scheduled action concerns, for display. */
export interface DueItem {
  readonly kind: "attempt" | "send" | "timeout" | "delay";
  readonly id: string;
}

/** The sandbox's clock. All future work of the service is scheduled on it. */
export interface SandboxClock {
  readonly mode: ClockMode;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Real mode: the clock's offset from real time, in milliseconds. Otherwise 0. */
  readonly offsetMs: number;
  readonly nextDue: number | undefined;
  /**
   * Moves time by `ms` and runs what becomes due, each at its own time. Resolves when all due work has finished. A
   * receiver that takes longer than `patienceMs` of real time (an option of the clock, 1,000 by default) is left
   * running while the clock moves on, so advancing by 15 s or more times out its attempt. Raise `patienceMs` for
   * a slow receiver. Rejects with RangeError unless `ms` is 0 or more.
   */
  readonly advance: (ms: number) => Promise<void>;
  /** Moves time to the next scheduled item and returns that item, or undefined if nothing is scheduled. */
  readonly advanceToNext: () => Promise<DueItem | undefined>;
}

/** The clock's interface for the rest of the sandbox. */
export interface Scheduler extends SandboxClock {
  /**
   * Schedules `run` for `time`, or for {@link lastTime} if that is earlier. `run` is never called before this call
   * returns. The returned function cancels it.
   */
  readonly at: (time: number, item: DueItem, run: () => unknown) => () => void;
  /** Cancels pending attempts and pending steps of sends, for a reset. */
  readonly clear: () => void;
  /** Makes a moved clock wait no longer for the running work on an item, because that work waits for the clock. */
  readonly park: (id: string) => void;
  readonly setMode: (mode: ClockMode, speed?: number) => void;
  readonly speed: number;
  /** Runs `work` when all moves of the clock have finished. Moves that begin meanwhile wait for it. */
  readonly afterMoves: <Result>(work: () => Result | Promise<Result>) => Promise<Result>;
  /** Sets the clock back, or forward, to `state`, from which time continues. Ends all delays of requests. */
  readonly rewind: (state: ClockState) => void;
  /**
   * Restores the clock after a restart, no earlier than `newest`. A clock that runs by itself also advances by the time
   * that the process was down.
   */
  readonly restore: (state: ClockState, newest?: number) => void;
  /** Real mode: moves the clock forward to real time if it is behind. It is never set back. */
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
   * How long a moved clock waits for receivers, in real time, before it continues to the next due time: 1 to 600,000
   * ms, 1,000 by default. Only receivers that do not respond cause the full wait, and only once for each of their
   * attempts.
   */
  readonly patienceMs?: number | undefined;
}

export interface ClockState {
  readonly mode: ClockMode;
  readonly speed: number;
  /** Epoch milliseconds, including a fraction. */
  readonly now: number;
  /** The real time when the clock showed `now`. */
  readonly wall: number;
}
