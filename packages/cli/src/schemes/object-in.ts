import type { SignedBody } from "@svc-webhooks/core";

/** Returns the JSON object in a body, or undefined. */
export function objectIn(bytes: Uint8Array): SignedBody | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as SignedBody)
      : undefined;
  } catch {
    return undefined;
  }
}
