import type { Failure } from "./failure.js";

/** Milliseconds of the first pause. Each later one is twice as long, up to the longest. */
const firstPause = 500;
const longestPause = 8_000;

/** The pause after attempt `attempt`: random in the upper half, and never shorter than the service asks. */
export const pauseMs = (attempt: number, { facts }: Failure): number =>
  Math.max(
    Math.min(longestPause, firstPause * 2 ** (attempt - 1)) * (1 - Math.random() / 2),
    facts.retryAfterMs ?? 0,
  );

/**
 * Whether another attempt may succeed and do no harm.
 *
 * @param isRepeatable the request takes effect once, however often it is processed
 */
export function mayRetry({ facts, isLost }: Failure, isRepeatable: boolean): boolean {
  const { status = 0, code } = facts;
  // The request was not processed.
  if (status === 429) return true;
  if (status === 409) return code === "idempotency_in_progress";
  return isRepeatable && (isLost || status === 408 || status >= 500);
}

/**
 * How long the service asks to wait: `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3),
 * else `X-RateLimit-Reset` of a limit that is used up. A date is relative to the response's `Date`.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after") ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const sentAt = Date.parse(headers.get("date") ?? "") || now;
  // `Date.parse` alone takes almost any text.
  const at = /^[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : NaN;
  if (at > 0) return Math.max(0, at - sentAt);
  const remaining = headers.get("x-ratelimit-remaining") ?? "0";
  const ms = Number(headers.get("x-ratelimit-reset")) * 1_000;
  if (remaining !== "0" || !(ms > 0)) return undefined;
  // A time since the epoch, or from now.
  return Math.max(0, ms > 1e12 ? ms - sentAt : ms);
}
