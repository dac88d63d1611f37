import type { SignedBody } from "@svc-webhooks/core";

/** Returns the value of a JSON text, or undefined if the text is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the JSON object in a body, or undefined if the body is not a JSON object. */
export function objectIn(bytes: Uint8Array): SignedBody | undefined {
  const value = jsonIn(Buffer.from(bytes).toString());
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as SignedBody)
    : undefined;
}
