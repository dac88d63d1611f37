import { headerNames } from "@svc-webhooks/core";
import type { HeaderList } from "./target.js";

const passed = new Set<string>([...Object.values(headerNames), "content-type"]);

/**
 * Returns the documented `X-SVC-*` headers, `Idempotency-Key` and `Content-Type`, with their original names and values.
 */
export const deliveryHeaders = (headers: HeaderList): HeaderList =>
  headers.filter(([name]) => passed.has(name.toLowerCase()));

/** Returns a header by its lower-case name. Repeated values are joined (RFC 9110, section 5.3). */
export function headerOf(headers: HeaderList, lowerCaseName: string): string | undefined {
  const values = headers.filter(([name]) => name.toLowerCase() === lowerCaseName);
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(", ");
}
