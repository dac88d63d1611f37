import type { Clock } from "@svc-webhooks/core";

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** The number of pending timers. */
  readonly timers: number;
  /**
   * Moves time forward by `ms` milliseconds, and fires all timers that are due by then, the earliest first. Before each
   * timer and at the end, five turns of the event loop pass, so that promise reactions can run.
   */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Moves time by `ms` milliseconds without firing timers, as if the event loop were blocked. The next `advance` fires
   * the timers that are due. A negative value sets the clock back.
   */
  readonly jump: (ms: number) => void;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/**
 * Creates a clock for `createReceiver` and `memoryStore` that only the test moves. It starts at 2026-01-01T00:00:00Z.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver, memoryStore } from "svc-webhooks";
 * import { fakeClock, signedDelivery } from "@svc-webhooks/testing";
 *
 * const clock = fakeClock();
 * const receiver = createReceiver({
 *   secret: "whsec_test",
 *   clock,
 *   store: memoryStore({ clock }),
 *   on: { "*": () => new Promise(() => {}) },
 *   logger: { info() {}, warn() {}, error() {} },
 * });
 *
 * const outcome = receiver.receive(await signedDelivery({ type: "email.sent" }));
 * await clock.advance(10_000);
 * assert.equal((await outcome).code, "handler_timeout");
 * ```
 */
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

/** Waits for five turns of the event loop, so that pending promise reactions run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
