import type { Clock } from "../clock.js";
import type { DeliveryFacts } from "../outcome.js";
import { linePauseMs } from "./times.js";

/** A non-empty string. */
export const isFilled = (value: unknown): value is string =>
  typeof value === "string" && value !== "";

/** What an error says; of whatever was thrown, something. */
export function describe(error: unknown): string {
  try {
    return String((error as Error | undefined)?.message ?? error) || "no reason";
  } catch {
    return "unprintable";
  }
}

/**
 * A line for the operator. What comes from outside is cut to 500 characters, and everything but
 * visible ASCII in it escaped: no line break and no terminal sequence gets through.
 */
export function logLine(
  what: string,
  { deliveryId, type }: Partial<DeliveryFacts>,
  message = "",
): string {
  const about = deliveryId ? ` ${JSON.stringify({ deliveryId, type })}` : "";
  return `svc-webhooks ${what}:${printable(about)} ${printable(message)}`;
}

/**
 * An error with its stack and its causes, for the operator. In messages line breaks are escaped like
 * all control characters, so that what a sender wrote cannot look like a line of ours.
 */
export function describeFully(error: unknown, depth = 3): string {
  const message = describe(error);
  const { stack, cause } = (error ?? {}) as { readonly stack?: unknown; readonly cause?: unknown };
  const whole = typeof stack === "string" ? stack : message;
  const lines = whole.replace(message, () => printable(message)).split("\n");
  // A stack may hold more than its message. No line of ours begins with a space.
  const text = lines.map(printable).join("\n  ");
  return cause && depth ? `${text}\n  caused by: ${describeFully(cause, depth - 1)}` : text;
}

/** Prints a line about `what`, at most once a minute per `key`. */
export type PrintLine = (
  key: string,
  what: string,
  message: string,
  facts?: Partial<DeliveryFacts>,
) => void;

/** Prints lines through `log`, each with a count of those that were left out before it. */
export function linePrinter(clock: Clock, log: (line: string) => void): PrintLine {
  const printed = new Map<string, { readonly at: number; left: number }>();
  return (key, what, message, facts = {}) => {
    const now = clock.monotonic();
    const last = printed.get(key);
    if (last && now - last.at < linePauseMs) {
      last.left += 1;
      return;
    }
    if (printed.size > 100) printed.clear();
    printed.set(key, { at: now, left: 0 });
    const line = logLine(what, facts, message);
    log(last?.left ? `${line} (and ${last.left} more)` : line);
  };
}

const printable = (text: string) =>
  text
    .slice(0, 500)
    .replace(/[^ -~]/g, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
