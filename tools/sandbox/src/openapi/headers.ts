import type { Ledger } from "../assumptions/ledger.js";

const ofRateLimit = (description: string) => ({
  description,
  schema: { type: "string", pattern: String.raw`^\d+$` },
  "x-assumption": "A-16",
});

/** The descriptions of the response headers, by name. */
export const headers = {
  "X-Request-Id": {
    description: "Identifies the request. The body of an error also contains it.",
    schema: { type: "string" },
    "x-assumption": "A-11",
  },
  "Retry-After": {
    description:
      "When to send the request again, in seconds from now, or as a date if A-16 is `http-date`.",
    schema: { type: "string" },
  },
  "WWW-Authenticate": {
    description: "The scheme that the Authorization header must use (RFC 9110, section 11.6.1).",
    schema: { type: "string", const: "Bearer" },
    "x-assumption": "A-11",
  },
  "X-RateLimit-Limit": ofRateLimit("The number of requests allowed in a window."),
  "X-RateLimit-Remaining": ofRateLimit("The number of requests left in this window."),
  "X-RateLimit-Reset": ofRateLimit(
    "The end of the window, in epoch seconds, or in seconds from now if A-16 is `delta`.",
  ),
} as const;

export type HeaderName = keyof typeof headers;

const names = Object.keys(headers) as readonly HeaderName[];

/**
 * Returns references to the headers of a response: `X-Request-Id`, `more`, and the rate-limit headers if the status is
 * 429 or there is a rate limit.
 */
export function headersOf(
  status: number | "default",
  ledger: Ledger,
  more: readonly HeaderName[] = [],
): object {
  const isLimited = status === 429 || ledger.get("rateLimit") !== "off";
  const limit = isLimited ? names.filter((name) => name.startsWith("X-RateLimit-")) : [];
  const all = ["X-Request-Id", ...limit, ...more];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
