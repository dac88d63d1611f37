import { captureContext } from "./context.js";
import type { SimulatedProcess } from "./process.js";

interface Timer {
  readonly at: number;
  readonly run: () => void;
  readonly owner: SimulatedProcess | undefined;
  isCanceled: boolean;
}

/** The time of one history. It stands still until the scheduler moves it to the next timer. */
export class VirtualTime {
  readonly #startMs: number;
  #elapsedMs = 0;
  /** The timers that have not fired, in the order in which they fire. */
  #timers: Timer[] = [];
  /** A counter that grows with each call, reply and timer of the history, so that the scheduler notices activity. */
  activity = 0;
  /** The number of timers that have fired. */
  fired = 0;
  /** The number of pending operations that need turns of the event loop, but no virtual time. */
  pendingTurns = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** The time since the start of the history, in milliseconds. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Returns the time in epoch milliseconds. */
  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  /**
   * Runs `run` after `delayMs`, in the caller's context, unless `owner` is dead by then. If `owner` is frozen, `run`
   * waits until the process continues. Returns a function that cancels the timer.
   */
  after(delayMs: number, run: () => void, owner?: SimulatedProcess): () => void {
    this.activity += 1;
    const delay = Number.isFinite(delayMs) ? Math.max(0, Math.floor(delayMs)) : 0;
    const at = this.#elapsedMs + delay;
    const inContext = captureContext();
    const timer: Timer = { at, run: () => inContext(run), owner, isCanceled: false };
    let place = this.#timers.length;
    while (place > 0 && Number(this.#timers[place - 1]?.at) > at) place -= 1;
    this.#timers.splice(place, 0, timer);
    return () => {
      timer.isCanceled = true;
    };
  }

  /** Returns the time of the next timer in elapsed milliseconds, or undefined if there is none. */
  nextMs(): number | undefined {
    this.#timers = this.#timers.filter(
      ({ isCanceled, owner }) => !isCanceled && owner?.state !== "dead",
    );
    return this.#timers[0]?.at;
  }

  /** Moves the time to the next timer, and fires the timer unless it has been canceled. */
  fireNext(): void {
    const timer = this.#timers.shift();
    if (!timer) return;
    this.activity += 1;
    this.fired += 1;
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.at);
    if (timer.isCanceled) return;
    if (timer.owner) timer.owner.deliver(timer.run);
    else timer.run();
  }
}
