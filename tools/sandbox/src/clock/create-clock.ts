import type { ClockOptions, Scheduler } from "../clock.js";
import { lastTime } from "../lib/iso.js";
import { createRunner } from "./runner.js";
import { createTime, wall } from "./time.js";

export function createClock(options: ClockOptions = {}): Scheduler {
  const time = createTime(options);
  const runner = createRunner(time, options.patienceMs);

  const moveBy = async (ms: number) => {
    let left = ms;
    for (;;) {
      await runner.waitUntilQuiet();
      const step = Math.max(0, Math.ceil((runner.next()?.time ?? Infinity) - time.exact()));
      if (step > left || runner.isClosed()) break;
      left -= step;
      time.moveBy(step);
      runner.arm();
    }
    time.moveBy(left);
    runner.arm();
  };

  /** The most recent move of the clock. A new move begins when this one has finished. */
  let moving: Promise<unknown> = Promise.resolve();
  const afterOthers = <Result>(move: () => Result | Promise<Result>): Promise<Result> => {
    const result = moving.then(move);
    moving = result.catch(() => {});
    return result;
  };

  return {
    get mode() {
      return time.mode;
    },
    get speed() {
      return time.rate || 1;
    },
    get offsetMs() {
      return time.offsetMs();
    },
    get nextDue() {
      return runner.next()?.time;
    },
    now: time.now,
    at(due, item, run) {
      const cancel = runner.add({ time: Math.min(due, lastTime), item, run });
      runner.arm();
      return cancel;
    },
    clear: () => void runner.remove(({ item: { kind } }) => kind === "attempt" || kind === "send"),
    park: runner.park,
    afterMoves: afterOthers,
    rewind(state) {
      for (const delay of runner.remove(({ item: { kind } }) => kind === "delay")) delay.run();
      time.restore({ ...state, wall: wall() }, 0);
      runner.arm();
    },
    async advance(ms) {
      if (!(Number.isFinite(ms) && ms >= 0 && time.now() + ms <= lastTime))
        throw new RangeError(
          "ms must be 0 or greater, and the clock cannot go beyond the year 9999.",
        );
      await afterOthers(() => moveBy(Math.round(ms)));
    },
    advanceToNext: () =>
      afterOthers(async () => {
        await runner.waitUntilQuiet();
        const next = runner.next();
        if (next) await moveBy(Math.max(0, Math.ceil(next.time - time.exact())));
        return next?.item;
      }),
    setMode(to, rate) {
      time.setMode(to, rate);
      runner.arm();
    },
    catchUp() {
      time.catchUp();
      runner.arm();
    },
    state: () => ({
      mode: time.mode,
      speed: time.rate || 1,
      now: time.exact(),
      wall: wall(),
    }),
    restore(state, newest = 0) {
      time.restore(state, newest);
      runner.arm();
    },
    close: () => runner.close(),
  };
}
