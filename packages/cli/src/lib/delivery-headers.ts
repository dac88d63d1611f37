import { headerNames } from "@svc-webhooks/core";
import type { HeaderList } from "./target.js";

const passed = new Set<string>([...Object.values(headerNames), "content-type"]);

/**
 * Returns the documented `X-SVC-*` headers, `Idempotency-Key` and `Content-Type`, with their original names and values.
 */
export const deliveryHeaders = (headers: HeaderList): HeaderList =>
  headers.filter(([name]) => passed.has(name.toLowerCase()));

/** The headers of one connection or of one client (RFC 9110, section 7.6.1), which another request must not repeat. */
const own =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length|authorization|cookie)$/i;

/** Returns the headers of a sender whose names are not known: all but those of its connection, and no credentials. */
export const senderHeaders = (headers: HeaderList): HeaderList =>
  headers.filter(([name]) => !own.test(name));

/** Returns a header by its lower-case name. Repeated values are joined (RFC 9110, section 5.3). */
export function headerOf(headers: HeaderList, lowerCaseName: string): string | undefined {
  const values = headers.filter(([name]) => name.toLowerCase() === lowerCaseName);
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(", ");
}
