import { assertValid } from "@svc-webhooks/core";

/**
 * Returns the bytes of a body: those of a string or bytes, or of a value as JSON.
 *
 * @throws ReceiverConfigError `invalid_option` for undefined, and for a value that JSON cannot represent, such as a
 *   function
 */
export function eventBytes(event: unknown): Uint8Array<ArrayBuffer> {
  if (event instanceof Uint8Array) return Uint8Array.from(event);
  // The result is undefined for a value that JSON cannot represent, whatever its type states.
  const text = typeof event === "string" ? event : (JSON.stringify(event) as string | undefined);
  const found = event === undefined ? "undefined" : `a ${typeof event}`;
  const fix = 'Pass an object, text or bytes; "" is an empty body.';
  assertValid(text !== undefined, "event", `\`event\` is ${found}. ${fix}`);
  return new TextEncoder().encode(text);
}
