import { assertValid } from "@svc-webhooks/core/adapter";

/**
 * Returns an event as the bytes of a body: bytes are copied, a string is encoded in UTF-8, and any other value becomes
 * JSON.
 *
 * @throws ConfigError `invalid_option` for a value without a JSON form, such as undefined, a function or a
 *   cyclic object
 */
export function eventBytes(event: unknown): Uint8Array<ArrayBuffer> {
  if (event instanceof Uint8Array) return Uint8Array.from(event);
  const text = typeof event === "string" ? event : jsonTextOf(event);
  const description =
    event === undefined ? "undefined" : `a value without a JSON form (${typeof event})`;
  const fix = 'Pass an object, a string or bytes. For an empty body, pass "".';
  assertValid(text !== undefined, "event", `\`event\` is ${description}. ${fix}`);
  return new TextEncoder().encode(text);
}

/** Returns a value as JSON, or undefined if it has no JSON form, such as a function, a BigInt or a cyclic object. */
function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
