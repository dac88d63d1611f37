/**
 * For queues: returns the message of an error, at most 10,000 characters, as text that each database stores: without NUL
 * and lone surrogates. Never throws, whatever a handler has thrown.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { errorText } from "@svc-webhooks/core/inbox";
 *
 * assert.equal(errorText(new Error("no such account")), "no such account");
 * assert.equal(errorText(Object.create(null)), "The error cannot be read.");
 * ```
 */
export function errorText(error: unknown): string {
  try {
    const { message = error, name } = Object(error) as { message?: unknown; name?: unknown };
    // An AggregateError may have no message.
    return String(message || name)
      .slice(0, 10_000)
      .replaceAll(/[\0\p{Cs}]/gu, "\ufffd");
  } catch {
    // An object without a prototype, a proxy, or a getter that throws.
    return "The error cannot be read.";
  }
}
