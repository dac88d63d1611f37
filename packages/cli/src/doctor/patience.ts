import { setTimeout as pause } from "node:timers/promises";
import type { Send } from "./probe.js";

const maximum = { repeats: 3, pauseMs: 10_000 };

/**
 * Wraps `send` to repeat a probe after a 429 response, up to three times, after the pause that each response demands.
 * Returns a 429 that demands more than 10 s.
 */
export const patient =
  (send: Send, signal: AbortSignal): Send =>
  async (probe) => {
    for (let repeats = 0; ; repeats += 1) {
      const reply = await send(probe);
      const { retry_after_ms: ms } = reply;
      if (ms === undefined || ms > maximum.pauseMs || repeats === maximum.repeats) return reply;
      await pause(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  };
