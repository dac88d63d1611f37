import { headerNames } from "@svc-webhooks/core/adapter";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import type { HeaderList } from "./target.js";

const documented = new Set<string>([...Object.values(headerNames), "content-type"]);

/** Matches headers of one connection (RFC 9110, section 7.6.1) or one client, which another request must not repeat. */
const own =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length|authorization|cookie)$/i;

/**
 * Returns the headers of a delivery that another request repeats, with their original names and values. For the
 * service, these are the documented `X-SVC-*` headers, `Idempotency-Key` and `Content-Type`. For another sender, whose
 * header names are not known, these are all except connection headers, credentials and cookies.
 */
export const passedHeaders = (headers: HeaderList, sender: Sender): HeaderList =>
  headers.filter(([name]) =>
    sender === service ? documented.has(name.toLowerCase()) : !own.test(name),
  );

/** Returns a delivery's headers followed by `added`, without the delivery's headers of the same names. */
export function withHeaders(headers: HeaderList, added: HeaderList): HeaderList {
  const names = new Set(added.map(([name]) => name.toLowerCase()));
  return [...headers.filter(([name]) => !names.has(name.toLowerCase())), ...added];
}

/** Returns the value of a header, or undefined if it is missing. Joins the values of repeated ones (RFC 9110, 5.3). */
export function headerOf(headers: HeaderList, lowerCaseName: string): string | undefined {
  const values = headers.filter(([name]) => name.toLowerCase() === lowerCaseName);
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(", ");
}
