import type { Clock } from "../clock.js";
import { describe } from "../lib/text.js";
import { linePauseMs } from "../lib/times.js";
import type { Logger, LogFields } from "../logger.js";
import type { DeliveryFacts } from "../outcome.js";

export type Level = keyof Logger;

/** A line for the operator. */
export interface Line {
  readonly level: Level;
  /** The code of an outcome or a warning, or `notice` for the risk that a scheme states. */
  readonly code: string;
  /** A description of this case. Printed escaped, because it may contain text from outside the application. */
  readonly message?: string;
  /** The likely cause and the fix. Printed unescaped, so it must not contain text from outside the application. */
  readonly advice?: string | undefined;
  readonly facts?: Partial<DeliveryFacts>;
  /** The error. Its stack and its causes are printed after the message. */
  readonly error?: unknown;
}

/**
 * Prints the line that `make` returns. Of the lines with the same key, at most one per minute is made and printed. A
 * line without a key is always printed.
 */
export type Print = (code: string, key: string | undefined, make: () => Omit<Line, "code">) => void;

/** Writes a line, and the number of lines with the same key that were omitted before it. */
export type Write = (line: Line, omitted: number) => unknown;

const mostKeys = 100;

/** Returns the function that prints the lines of a receiver. */
export function linePrinter(clock: Clock, write: Write): Print {
  const printed = new Map<string, { readonly at: number; omitted: number }>();
  return (code, ownKey, make) => {
    if (ownKey === undefined) return void write({ ...make(), code }, 0);
    const now = clock.monotonic();
    const isKnown = printed.has(ownKey);
    if (!isKnown && printed.size >= mostKeys) {
      for (const [old, { at }] of printed) if (now - at >= linePauseMs) printed.delete(old);
    }
    // Once there are `mostKeys` keys, all new keys of a code share one limit, so that a sender that varies its texts
    // cannot flood the log.
    const key = isKnown || printed.size < mostKeys ? ownKey : code;
    const last = printed.get(key);
    if (last && now - last.at < linePauseMs) {
      last.omitted += 1;
      return;
    }
    printed.set(key, { at: now, omitted: 0 });
    write({ ...make(), code }, last?.omitted ?? 0);
  };
}

/** Returns a function that writes lines to `log`, or to `logger` if there is no `log`. */
export function lineWriter(
  receiver: string,
  logger: Logger,
  log: ((line: string) => void) | undefined,
): Write {
  const call = callerOf(logger);
  return (line, omitted) => {
    const { level, code, message = "", advice = "", facts = {} } = line;
    const details = printable(message);
    const { deliveryId, type, source } = facts;
    // The run is converted to a number, because a store may count runs in a BigInt, which JSON refuses.
    // oxlint-disable-next-line typescript/no-unnecessary-type-conversion
    const run = facts.run && Number(facts.run);
    const parts = [
      `svc-webhooks ${receiver}: ${code}:`,
      deliveryId ? printable(JSON.stringify({ deliveryId, type, source, run })) : "",
      advice && details ? `${details}.` : details,
      "error" in line ? describeFully(line.error) : "",
      advice,
      omitted ? `(and ${omitted} more)` : "",
    ];
    const text = parts.filter(Boolean).join(" ");
    if (log) return log(text);
    return call(level, text, {
      receiver,
      code,
      ...(deliveryId && { deliveryId }),
      ...(type && { type: printable(type) }),
      ...(run && { run }),
      ...(source && { source }),
      ...(details && { details }),
    });
  };
}

function callerOf(logger: Logger): (level: Level, text: string, fields: LogFields) => unknown {
  // `console` receives no fields, because the text contains them already.
  if (logger === console) return (level, text) => console[level](text);
  if ("bindings" in logger) {
    const fieldsFirst = logger as unknown as Record<
      Level,
      (fields: LogFields, text: string) => unknown
    >;
    return (level, text, fields) => fieldsFirst[level](fields, text);
  }
  return (level, text, fields) => logger[level](text, fields);
}

/**
 * Returns the text of an error with its stack, followed by its causes and their causes, up to `depth` levels deep. Line
 * breaks in messages are escaped like all control characters, so that a sender's text cannot imitate a log line.
 */
function describeFully(error: unknown, depth = 3): string {
  const message = describe(error);
  const { stack, cause, errors } = Object(error) as Partial<AggregateError>;
  const whole = typeof stack === "string" ? stack : message;
  const lines = whole.replace(message, () => printable(message)).split("\n");
  // A stack may contain more external text than the message, so its lines are indented. They then cannot imitate the
  // receiver's own lines, which never begin with a space.
  const text = lines.slice(0, 50).map(printable).join("\n  ");
  const causes = [cause, ...(Array.isArray(errors) ? errors.slice(0, 10) : [])].filter(Boolean);
  if (!depth) return text;
  return [text, ...causes.map((reason) => describeFully(reason, depth - 1))].join(
    "\n  caused by: ",
  );
}

/**
 * Cuts external text to 500 characters and escapes everything except printable ASCII. `%` is escaped too, because some
 * loggers replace `%s` and similar text with the fields.
 */
const printable = (text: string) =>
  text
    .slice(0, 500)
    .replace(/[^ -$&-~]/g, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
