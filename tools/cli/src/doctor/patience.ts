import { setTimeout as pause } from "node:timers/promises";
import type { Send } from "./probe.js";

const maximum = { repeats: 3, pauseMs: 10_000 };

/**
 * Wraps `send` so that it repeats a probe after a 429 response, up to three times, each time after the pause that the
 * response demands. Does not repeat the probe if that pause is longer than 10 s.
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
