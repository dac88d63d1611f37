import { assertValid } from "@svc-webhooks/core";

/**
 * Returns an event as the bytes of a body: bytes are copied, a string is encoded, and any other value becomes JSON.
 *
 * @throws ReceiverConfigError `invalid_option` for a value without a JSON form, such as undefined or a function
 */
export function eventBytes(event: unknown): Uint8Array<ArrayBuffer> {
  if (event instanceof Uint8Array) return Uint8Array.from(event);
  // The cast adds undefined, which `JSON.stringify` returns for a function, although its type does not state it.
  const text = typeof event === "string" ? event : (JSON.stringify(event) as string | undefined);
  const found = event === undefined ? "undefined" : `a ${typeof event}`;
  const fix = 'Pass an object, a string or bytes. For an empty body, pass "".';
  assertValid(text !== undefined, "event", `\`event\` is ${found}. ${fix}`);
  return new TextEncoder().encode(text);
}
