import type { Clock } from "../clock.js";
import type { DeliveryFacts } from "../outcome.js";
import { linePauseMs } from "./times.js";

/** Returns whether `value` is a non-empty string. */
export const isFilled = (value: unknown): value is string =>
  typeof value === "string" && value !== "";

/** Returns the message of an error, or some text for any other value thrown. */
export function describe(error: unknown): string {
  try {
    return String((error as Error | undefined)?.message ?? error) || "no reason";
  } catch {
    return "unprintable";
  }
}

/**
 * Returns a line for the operator. External text is cut to 500 characters, and all but printable ASCII
 * is escaped, so that it cannot contain line breaks or terminal sequences.
 */
export function logLine(
  problem: string,
  { deliveryId, type }: Partial<DeliveryFacts>,
  message = "",
): string {
  const about = deliveryId ? ` ${JSON.stringify({ deliveryId, type })}` : "";
  return `svc-webhooks ${problem}:${printable(about)} ${printable(message)}`;
}

/**
 * Returns an error with its stack and its causes, for the operator. Line breaks in messages are escaped
 * like all control characters, so that a sender's text cannot imitate a log line.
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

/** Prints a line about a problem, at most once a minute per `key`. */
export type PrintLine = (
  key: string,
  problem: string,
  message: string,
  facts?: Partial<DeliveryFacts>,
) => void;

/** Prints lines through `log`, each with the number of lines omitted before it. */
export function linePrinter(clock: Clock, log: (line: string) => void): PrintLine {
  const printed = new Map<string, { readonly at: number; omitted: number }>();
  return (key, problem, message, facts = {}) => {
    const now = clock.monotonic();
    const last = printed.get(key);
    if (last && now - last.at < linePauseMs) {
      last.omitted += 1;
      return;
    }
    if (printed.size > 100) printed.clear();
    printed.set(key, { at: now, omitted: 0 });
    const line = logLine(problem, facts, message);
    log(last?.omitted ? `${line} (and ${last.omitted} more)` : line);
  };
}

const printable = (text: string) =>
  text
    .slice(0, 500)
    .replace(/[^ -~]/g, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
