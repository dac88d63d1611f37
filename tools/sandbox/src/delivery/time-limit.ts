import { setMaxListeners } from "node:events";
import type { Scheduler } from "../clock.js";
import { clearTimeout, setTimeout } from "../lib/timers.js";
import type { Sent } from "../network/transport.js";

/** Creates a time limit for attempts. It is measured on the sandbox's clock if that is manual, else in real time. */
export function createTimeLimit(clock: Scheduler) {
  let stopping = new AbortController();

  /** Calls `expire` when the time limit ends. Returns a function that cancels it. */
  const after = (ms: number, id: string, expire: () => void): (() => void) => {
    if (clock.mode === "manual") return clock.at(clock.now() + ms, { kind: "timeout", id }, expire);
    const timer = setTimeout(expire, ms);
    return () => clearTimeout(timer);
  };

  return {
    /**
     * Runs `send` and returns its results. After `timeoutMs`, or when all attempts are stopped, aborts it and returns
     * an error of kind `timeout`.
     */
    async run(
      id: string,
      timeoutMs: number,
      send: (signal: AbortSignal) => Promise<readonly Sent[]>,
    ): Promise<readonly Sent[]> {
      const text = `The receiver did not respond within ${timeoutMs / 1_000} s (A-10).`;
      const sending = new AbortController();
      let cancel: (() => void) | undefined;
      const expired = new Promise<readonly Sent[]>((resolve) => {
        const expire = () => {
          resolve([{ error: { kind: "timeout", text } }]);
          sending.abort();
        };
        cancel = after(timeoutMs, id, expire);
        // Turns off Node's warning about many listeners, because every running attempt adds a listener.
        setMaxListeners(0, stopping.signal);
        stopping.signal.addEventListener("abort", expire, { signal: sending.signal });
      });
      try {
        return await Promise.race([send(sending.signal), expired]);
      } finally {
        cancel?.();
        // Without this argument, Node would create an exception with a stack trace for each attempt.
        sending.abort(ended);
      }
    },
    /** Stops all running attempts. */
    stop(): void {
      stopping.abort();
      stopping = new AbortController();
    },
  };
}

const ended = new Error("The attempt has ended.");
