import type { RateLimitRule } from "../assumptions/table.js";
import type { Ledger } from "../assumptions/ledger.js";

/** Headers of responses, by their names. */
export const headers = {
  "X-Request-Id": {
    description: "Identifies the request, also in the body of an error.",
    schema: { type: "string" },
    "x-assumption": "A-11",
  },
  "Retry-After": {
    description: "When to send the request again: seconds, or a date under A-16 `http-date`.",
    schema: { type: "string" },
  },
  "WWW-Authenticate": {
    description: "The scheme of the Authorization header (RFC 9110, section 11.6.1).",
    schema: { type: "string", const: "Bearer" },
    "x-assumption": "A-11",
  },
  "X-RateLimit-Limit": {
    description: "The requests that a window allows.",
    schema: { type: "string", pattern: String.raw`^\d+$` },
    "x-assumption": "A-16",
  },
  "X-RateLimit-Remaining": {
    description: "The requests that are left in this window.",
    schema: { type: "string", pattern: String.raw`^\d+$` },
    "x-assumption": "A-16",
  },
  "X-RateLimit-Reset": {
    description: "The end of the window: epoch seconds, or seconds from now under A-16 `delta`.",
    schema: { type: "string", pattern: String.raw`^\d+$` },
    "x-assumption": "A-16",
  },
} as const;

export type HeaderName = keyof typeof headers;

const ofRateLimit = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
] as const satisfies readonly HeaderName[];

const isLimited = (rule: RateLimitRule | "off") => rule !== "off";

/** The headers of a response: those that all have, and `more`. */
export function headersOf(
  status: number | "default",
  ledger: Ledger,
  more: readonly HeaderName[] = [],
): object {
  const limit = status === 429 || isLimited(ledger.get("rateLimit")) ? ofRateLimit : [];
  const names: readonly HeaderName[] = ["X-Request-Id", ...limit, ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
