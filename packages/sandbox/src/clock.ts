import { createHeap } from "./lib/heap.js";
import {
  clearImmediate,
  clearTimeout,
  realNow,
  realOrigin,
  setImmediate,
  setTimeout,
} from "./lib/timers.js";
import { longestTimer } from "./lib/units.js";

export type ClockMode = "real" | "manual" | "accelerated";

/** Something that will happen at a time: the item that it concerns, for people. */
export interface DueItem {
  readonly kind: "attempt" | "send" | "timeout" | "delay";
  readonly id: string;
}

/** The sandbox's time. Everything that waits in the sandbox waits on it. */
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
  /** Runs `run` at `time`, never before this call has returned. The returned function cancels it. */
  readonly at: (time: number, item: DueItem, run: () => unknown) => () => void;
  /** Cancels the attempts and the steps of sends that are waiting, for a reset. */
  readonly clear: () => void;
  readonly setMode: (mode: ClockMode, speed?: number) => void;
  readonly speed: number;
  /** Continues after a restart: a clock that runs by itself ran on while the process was down. */
  readonly restore: (state: ClockState) => void;
  /** Real mode: skips the time by which it is behind the machine's. It is never set back. */
  readonly catchUp: () => void;
  readonly state: () => ClockState;
  readonly close: () => void;
}

export interface ClockState {
  readonly mode: ClockMode;
  readonly speed: number;
  /** With its fraction of a millisecond. */
  readonly now: number;
  /** The real time at which it was `now`. */
  readonly wall: number;
}

export interface ClockOptions {
  readonly mode?: ClockMode | undefined;
  /** How much faster than real time an accelerated clock runs. Default 60. */
  readonly speed?: number | undefined;
  /** Where the clock starts, in epoch milliseconds. Default: now. */
  readonly start?: number | undefined;
  /**
   * How much real time a moved clock leaves to a receiver before it continues to the next due time: 1 to
   * 600,000 ms, 1,000 by default. Only receivers that do not respond are awaited for so long, and each of
   * their attempts only once.
   */
  readonly patienceMs?: number | undefined;
}

/** The last time that JavaScript writes with four digits of the year. */
export const lastTime = Date.UTC(9999, 11, 31);

/** Work that is started in one turn of the event loop, so that ten thousand due items do not block it. */
const batch = 25;

/** Milliseconds after which a turn starts nothing more: one event may go to a hundred endpoints. */
const longestTurn = 5;

interface Entry {
  readonly time: number;
  readonly item: DueItem;
  readonly run: () => unknown;
}

/** Real time that is never set back. */
const wall = () => realOrigin + realNow();

export function createClock(options: ClockOptions = {}): Scheduler {
  const heap = createHeap<Entry>((a, b) => a.time - b.time);
  const { patienceMs = 1_000 } = options;
  let mode: ClockMode = "real";
  let rate = 1;
  // Time is `base` plus the real time since `wallBase`, times `rate`; the rate of a manual clock is 0.
  let wallBase = wall();
  let base = options.start ?? wallBase;
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  /** What has been started and is awaited. */
  const running = new Set<Entry>();
  /** What runs on, and is not awaited any longer. */
  const slow = new Set<Entry>();
  let wake: (() => void) | undefined;
  let closed = false;
  /** Calls of `advance` run one after the other. */
  let moving: Promise<unknown> = Promise.resolve();

  const exact = () => base + (wall() - wallBase) * rate;
  const now = () => Math.floor(exact());
  const due = () => (heap.peek()?.time ?? Infinity) <= now();

  const arm = () => {
    clearTimeout(timer);
    const time = heap.peek()?.time;
    if (time === undefined || closed) return;
    if (due()) turn ??= setImmediate(fire);
    else if (rate > 0) {
      timer = setTimeout(arm, Math.min(Math.ceil((time - exact()) / rate), longestTimer));
      // A test that forgets to close its sandbox must be able to end.
      timer.unref();
    }
  };

  const fire = () => {
    turn = undefined;
    const end = realNow() + longestTurn;
    for (let started = 0; started < batch && due(); started += 1) {
      if (closed || realNow() > end) break;
      const entry = heap.pop();
      if (!entry) break;
      running.add(entry);
      const ended = () => {
        slow.delete(entry);
        if (running.delete(entry)) wake?.();
      };
      if (entry.item.kind === "delay") {
        // What waited for this time works again.
        for (const waiting of slow) if (waiting.item.id === entry.item.id) running.add(waiting);
      }
      // What is due reports its own failures; here none may end the process or stop the clock.
      const work = async () => entry.run();
      work().then(ended, ended);
    }
    arm();
  };

  /** Resolves when nothing is due or running, or when nothing has ended for the time of our patience. */
  const settled = () =>
    new Promise<void>((resolve) => {
      let patience: NodeJS.Timeout | undefined;
      let look: NodeJS.Immediate | undefined;
      const end = () => {
        for (const entry of running) slow.add(entry);
        running.clear();
        wake = undefined;
        resolve();
      };
      wake = () => {
        clearTimeout(patience);
        clearImmediate(look);
        // What has ended may have something to start in the next turn.
        look = setImmediate(() => {
          if (closed || (running.size === 0 && !due())) end();
          else patience = setTimeout(end, patienceMs);
        });
      };
      wake();
    });

  const setMode = (to: ClockMode, speed = 60) => {
    const rates = { real: 1, manual: 0, accelerated: speed };
    if (!Object.hasOwn(rates, to) || !(speed > 0 && speed < 1e6))
      throw new RangeError(
        "The mode of the clock must be real, manual or accelerated, and its speed above 0 and below 1,000,000.",
      );
    base = to === "manual" ? now() : exact();
    wallBase = wall();
    mode = to;
    rate = rates[to];
    arm();
  };

  const moveBy = async (ms: number) => {
    let left = ms;
    for (;;) {
      await settled();
      const step = Math.max(0, Math.ceil((heap.peek()?.time ?? Infinity) - exact()));
      if (step > left || closed) break;
      left -= step;
      base += step;
      arm();
    }
    base += left;
    arm();
  };

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = moving.then(work);
    moving = result.catch(() => {});
    return result;
  };

  setMode(options.mode ?? "real", options.speed);
  return {
    get mode() {
      return mode;
    },
    get speed() {
      return rate || 1;
    },
    get offsetMs() {
      return mode === "real" ? Math.round(base - wallBase) : 0;
    },
    get nextDue() {
      return heap.peek()?.time;
    },
    now,
    at(time, item, run) {
      const cancel = heap.push({ time, item, run });
      arm();
      return cancel;
    },
    clear: () => heap.removeAll(({ item: { kind } }) => kind === "attempt" || kind === "send"),
    async advance(ms) {
      if (!(Number.isFinite(ms) && ms >= 0 && now() + ms <= lastTime))
        throw new RangeError(
          "ms must be a number of 0 or more, and the clock ends with the year 9999.",
        );
      await inTurn(() => moveBy(Math.round(ms)));
    },
    advanceToNext: () =>
      inTurn(async () => {
        await settled();
        const next = heap.peek();
        if (next) await moveBy(Math.max(0, Math.ceil(next.time - exact())));
        return next?.item;
      }),
    setMode,
    catchUp() {
      if (mode === "real") base = Math.max(base, wallBase);
      arm();
    },
    state: () => ({ mode, speed: rate || 1, now: exact(), wall: wall() }),
    restore(state) {
      setMode(state.mode, state.speed);
      base = state.now;
      // Time never goes back, although the clock of the machine may.
      wallBase = Math.min(state.wall, wall());
      arm();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      clearImmediate(turn);
      wake?.();
    },
  };
}
