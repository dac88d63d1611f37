import { longestTimer } from "../clock.js";
import type { Failure } from "./failure.js";

/**
 * Half of the longest possible first pause, in milliseconds. It doubles with each attempt, up to `longestHalf`.
 */
const firstHalf = 250;
const longestHalf = 4_000;

/**
 * Returns the pause after attempt number `attempt`, in milliseconds: the pause that the service requests, or else half
 * of the backoff. In both cases, a random part of up to half of the backoff is added.
 */
export function pauseMs(attempt: number, { facts }: Failure): number {
  const half = Math.min(longestHalf, firstHalf * 2 ** (attempt - 1));
  return (facts.retryAfterMs ?? half) + half * Math.random();
}

/**
 * Returns whether another attempt is permitted and may succeed.
 *
 * @param isRepeatable whether the request may be repeated after a lost response or a server error
 */
export function mayRetry({ facts, isLost }: Failure, isRepeatable: boolean): boolean {
  const { status = 0, code } = facts;
  // A retry is safe, because the service did not process the rate-limited request.
  if (status === 429) return true;
  if (status === 409) return code === "idempotency_in_progress";
  return isRepeatable && (isLost || status === 408 || status >= 500);
}

/**
 * Returns the pause that the service requests, in milliseconds, or undefined if it requests none. Reads `Retry-After`,
 * in seconds or as a date (RFC 9110, section 10.2.3). With status 429 and no valid `Retry-After`, reads
 * `X-RateLimit-Reset` (assumption A-16). A date is relative to the response's `Date`, or to `now` without one. The
 * pause is at most the longest delay that a timer supports.
 */
export function retryAfterMs(status: number, headers: Headers, now: number): number | undefined {
  const requested = requestedMs(status, headers, now);
  return requested === undefined ? undefined : Math.min(longestTimer, requested);
}

function requestedMs(status: number, headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after") ?? "";
  const sentAt = Date.parse(headers.get("date") ?? "") || now;
  // Uses `parseFloat`, which reads the first number of a repeated header: "5, 5".
  if (/^\d/.test(value)) return Number.parseFloat(value) * 1_000;
  // A date must begin with a capital letter, because `Date.parse` accepts almost any text.
  const at = /^[A-Z]/.test(value) && Date.parse(value);
  if (at) return Math.max(0, at - sentAt);
  const reset = Number(headers.get("x-ratelimit-reset")) * 1_000;
  if (status !== 429 || !(reset > 0)) return undefined;
  // A large value is a time since the epoch. A smaller one is the pause itself.
  return Math.max(0, reset > 1e12 ? reset - sentAt : reset);
}
