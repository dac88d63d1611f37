export type ClockMode = "real" | "manual" | "accelerated";

/** Something that will happen at a time: the item that it concerns, for people. */
export interface DueItem {
  readonly kind: "attempt" | "send" | "timeout" | "delay";
  readonly id: string;
}

/** The sandbox's time. Everything that the service will do later waits on it. */
export interface SandboxClock {
  readonly mode: ClockMode;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Real mode: the milliseconds that have been added to real time. Otherwise 0. */
  readonly offsetMs: number;
  readonly nextDue: number | undefined;
  /**
   * Moves time by `ms` and runs what becomes due, each at its own time. Resolves when everything that is
   * due has ended. A receiver that takes longer than `patienceMs` of real time (an option of the clock, 1,000
   * by default) is left running while time moves on: an advance by 15 s or more then times its attempt out
   * . Raise `patienceMs` for a slow receiver. Rejects with RangeError unless `ms` is 0 or more.
   */
  readonly advance: (ms: number) => Promise<void>;
  /** Moves time to the next thing that is due, and returns it; undefined if nothing is. */
  readonly advanceToNext: () => Promise<DueItem | undefined>;
}

/** The clock as the rest of the sandbox uses it. */
export interface Scheduler extends SandboxClock {
  /** Runs `run` at `time`, or at {@link lastTime} if that is earlier; never before this call has returned. The returned function cancels it. */
  readonly at: (time: number, item: DueItem, run: () => unknown) => () => void;
  /** Cancels the attempts and the steps of sends that are waiting, for a reset. */
  readonly clear: () => void;
  readonly setMode: (mode: ClockMode, speed?: number) => void;
  readonly speed: number;
  /**
   * Continues after a restart, never before `newest`: a clock that runs by itself ran on while the process
   * was down.
   */
  readonly restore: (state: ClockState, newest?: number) => void;
  /** Real mode: skips the time by which it is behind the machine's. It is never set back. */
  readonly catchUp: () => void;
  readonly state: () => ClockState;
  readonly close: () => void;
}

export interface ClockOptions {
  readonly mode?: ClockMode | undefined;
  /** The speed of an accelerated clock: 60, the default, is 60 times as fast as real time. */
  readonly speed?: number | undefined;
  /** The clock's first time, in epoch milliseconds. Default: now. */
  readonly start?: number | undefined;
  /**
   * How much real time a moved clock leaves to a receiver before it continues to the next due time: 1 to
   * 600,000 ms, 1,000 by default. Only receivers that do not respond are awaited for so long, and each of
   * their attempts only once.
   */
  readonly patienceMs?: number | undefined;
}

export interface ClockState {
  readonly mode: ClockMode;
  readonly speed: number;
  /** With its fraction of a millisecond. */
  readonly now: number;
  /** The real time at which it was `now`. */
  readonly wall: number;
}
