import { linePauseMs } from "../lib/times.js";
import { errorText } from "./error-text.js";

/** The most messages that {@link oncePerMinute} remembers. */
const mostMessages = 100;

/**
 * Passes each error to `report`, unless one with the same message was passed within the last minute: a worker whose
 * server is down or full may emit thousands of errors per second.
 *
 * @example
 * ```ts
 * import { oncePerMinute } from "@svc-webhooks/core/inbox";
 *
 * const report = oncePerMinute((error) => console.error(error));
 * process.on("warning", report);
 * ```
 */
export function oncePerMinute(report: (error: unknown) => unknown): (error: unknown) => void {
  const passedAt = new Map<string, number>();
  return (error) => {
    const text = errorText(error);
    const now = performance.now();
    if (now - (passedAt.get(text) ?? -Infinity) < linePauseMs) return;
    // Messages with changing numbers must not be kept for ever. The oldest is the first.
    passedAt.delete(text);
    for (const oldest of passedAt.keys()) {
      if (passedAt.size < mostMessages) break;
      passedAt.delete(oldest);
    }
    passedAt.set(text, now);
    report(error);
  };
}
