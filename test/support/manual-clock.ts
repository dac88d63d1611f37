import type { Clock } from "@svc-webhooks/core";
import { settled } from "./settled.js";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that moves only when `advance` or `jump` is called. */
export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  #timers: readonly Timer[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#now + delayMs, run };
    this.#timers = [...this.#timers, timer];
    return () => this.#remove(timer);
  }

  /** The number of pending timers. */
  get timers(): number {
    return this.#timers.length;
  }

  /** Moves time and fires due timers in order, each after the work that the previous one started. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (!next) break;
      this.#remove(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
    await settled();
  }

  /** Moves time without firing timers, like a blocked event loop or a dead process. */
  jump(ms: number): void {
    this.#now += ms;
  }

  #remove(timer: Timer): void {
    this.#timers = this.#timers.filter((other) => other !== timer);
  }
}
