import type { SignedBody } from "@svc-webhooks/core";

/**
 * Converts a body that is a JSON list to an event: `name` becomes the event's type, and the name of the field with the
 * list. Returns undefined for other bodies.
 */
export function listIn(bytes: Uint8Array, name: string): SignedBody | undefined {
  try {
    const list: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Array.isArray(list) ? { type: name, [name]: list } : undefined;
  } catch {
    return undefined;
  }
}
