import type { SignedBody } from "@svc-webhooks/core";
import { jsonIn } from "../lib/json-in.js";

/** Returns the JSON object in a body, or undefined. */
export function objectIn(bytes: Uint8Array): SignedBody | undefined {
  const value = jsonIn(Buffer.from(bytes).toString());
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as SignedBody)
    : undefined;
}
