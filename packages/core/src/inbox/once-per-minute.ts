import { linePauseMs } from "../lib/times.js";
import { errorText } from "./error-text.js";

/** The maximum number of errors that {@link oncePerMinute} passes in a minute. */
const mostMessages = 100;

/** Matches the parts that vary between messages with the same cause, such as worker ids and counts. */
const variable = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d+/gi;

async function quietly(report: (error: unknown) => unknown, error: unknown): Promise<void> {
  try {
    await report(error);
  } catch {
    // A log that fails must not end the process.
  }
}

/**
 * Returns a function that passes an error to `report`, unless it has passed one with the same message within the last
 * minute. Messages that differ only in numbers or UUIDs count as the same. This keeps the log short: a worker whose
 * server is down or full may emit thousands of errors per second. The function passes at most 100 errors in a minute.
 * It never throws: errors of `report` are ignored.
 *
 * @example
 * ```ts
 * import { oncePerMinute } from "svc-webhooks/inbox";
 *
 * const report = oncePerMinute((error) => console.error(error));
 * process.on("warning", report);
 * ```
 */
export function oncePerMinute(report: (error: unknown) => unknown): (error: unknown) => void {
  const passedAt = new Map<string, number>();
  return (error) => {
    const text = errorText(error).replaceAll(variable, "0");
    const now = performance.now();
    // The oldest entries come first, so the loop ends at the first recent one.
    for (const [oldest, at] of passedAt) {
      if (now - at < linePauseMs) break;
      passedAt.delete(oldest);
    }
    if (passedAt.has(text) || passedAt.size >= mostMessages) return;
    passedAt.set(text, now);
    void quietly(report, error);
  };
}
