import type { SignedBody } from "@svc-webhooks/core";

/** Returns a body that is a JSON list as an event, whose type and only field are `name`; undefined for any other body. */
export function listIn(bytes: Uint8Array, name: string): SignedBody | undefined {
  try {
    const list: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Array.isArray(list) ? { type: name, [name]: list } : undefined;
  } catch {
    return undefined;
  }
}
