/**
 * For queues: returns the message of an error, at most 10,000 characters, as text that every database can store: NUL
 * and lone surrogates become U+FFFD. Never throws, whatever a handler has thrown.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { errorText } from "svc-webhooks/inbox";
 *
 * assert.equal(errorText(new Error("no such account")), "no such account");
 * assert.equal(errorText(Object.create(null)), "The error cannot be read.");
 * ```
 */
export function errorText(error: unknown): string {
  try {
    const { message = error, name } = Object(error) as { message?: unknown; name?: unknown };
    // An AggregateError may have no message, so an empty message is replaced by the error's name.
    return String(message || name)
      .slice(0, 10_000)
      .replaceAll(/[\0\p{Cs}]/gu, "\ufffd");
  } catch {
    // The error cannot be converted to a string: it has no prototype, or its getter or proxy threw.
    return "The error cannot be read.";
  }
}
