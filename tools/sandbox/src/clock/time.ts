import type { ClockMode, ClockOptions, ClockState } from "../clock.js";
import { lastTime } from "../lib/iso.js";
import { realNow, realOrigin } from "../lib/timers.js";

/** Returns real time in epoch milliseconds. It never goes back, even if the machine's clock is set back. */
export const wall = () => realOrigin + realNow();

function rateOf(mode: ClockMode, speed = 60): number {
  const rates = { real: 1, manual: 0, accelerated: speed };
  if (!Object.hasOwn(rates, mode) || !(speed > 0 && speed < 1e6))
    throw new RangeError(
      "The clock's mode must be real, manual or accelerated, and its speed must be above 0 and below 1,000,000.",
    );
  return rates[mode];
}

/**
 * Creates a clock's time: `base` plus `rate` times the real time since `wallBase`, at most {@link lastTime}. Only a
 * rewind sets it back.
 */
export function createTime({ mode = "real", speed, start }: ClockOptions) {
  let rate = rateOf(mode, speed);
  let wallBase = wall();
  let base = start ?? (mode === "manual" ? Math.floor(wallBase) : wallBase);

  /** Epoch milliseconds, including a fraction. */
  const exact = () => Math.min(base + (wall() - wallBase) * rate, lastTime);
  const now = () => Math.floor(exact());

  const setMode = (to: ClockMode, toSpeed?: number) => {
    const next = rateOf(to, toSpeed);
    base = to === "manual" ? now() : exact();
    wallBase = wall();
    mode = to;
    rate = next;
  };

  return {
    get mode() {
      return mode;
    },
    /** The clock's speed as a multiple of real time: 1 in real mode, 0 in manual mode. */
    get rate() {
      return rate;
    },
    exact,
    now,
    offsetMs: () => (mode === "real" ? Math.round(base - wallBase) : 0),
    setMode,
    moveBy(ms: number) {
      base += ms;
    },
    catchUp() {
      if (mode === "real") base = Math.max(base, wallBase);
    },
    restore(state: ClockState, newest: number) {
      setMode(state.mode, state.speed);
      base = state.now;
      // Keeps `wallBase` from being in the future if the machine's clock was set back. `newest` may be later than the
      // saved time, because a killed process did not save its latest time.
      wallBase = Math.min(state.wall, wall());
      base += Math.max(0, newest - exact());
    },
  };
}

export type Time = ReturnType<typeof createTime>;
