import type { Clock } from "@svc-webhooks/core";

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /** How many timers wait. */
  readonly timers: number;
  /** Moves time and fires what comes due, in its order, each after what the one before set off. */
  readonly advance: (ms: number) => Promise<void>;
  /** Moves time and fires nothing, as for an event loop that was blocked or a process that is gone. */
  readonly jump: (ms: number) => void;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock for `createReceiver` and `memoryStore`. It begins with the year 2026. */
export function fakeClock(): FakeClock {
  let now = Date.UTC(2026, 0, 1);
  let waiting: readonly Timer[] = [];
  const remove = (timer: Timer) => {
    waiting = waiting.filter((other) => other !== timer);
  };
  return {
    now: () => now,
    monotonic: () => now,
    after(delayMs, run) {
      const timer = { at: now + delayMs, run };
      waiting = [...waiting, timer];
      return () => remove(timer);
    },
    get timers() {
      return waiting.length;
    },
    async advance(ms) {
      const end = now + ms;
      for (;;) {
        await settled();
        const [next] = waiting.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
        if (!next) break;
        remove(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = end;
      await settled();
    },
    jump(ms) {
      now += ms;
    },
  };
}

/** Lets everything go on that needs neither time nor input. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
