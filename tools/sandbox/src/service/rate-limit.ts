import type { RateLimitRule, Settings } from "../assumptions/table.js";
import { ApiError } from "../errors.js";
import type { RateWindow } from "../state/table.js";

/** The maximum number of API keys whose windows are remembered. */
const mostWindows = 10_000;

/** Creates a rate limit with fixed windows. */
export function createRateLimit() {
  const windows = new Map<string, RateWindow>();
  return {
    /** Returns copies of all windows. */
    copy: (): readonly RateWindow[] => Array.from(windows.values(), (window) => ({ ...window })),
    restore(copies: readonly RateWindow[]): void {
      windows.clear();
      for (const window of copies) windows.set(window.who, { ...window });
    },
    /**
     * Counts a request and returns the rate-limit headers of its response, or none if there is no limit.
     * @throws ApiError 429 `rate_limited`
     */
    count(who: string, rule: Settings["rateLimit"], now: number) {
      if (rule === "off") return {};
      let window = windows.get(who);
      if (!window || now >= window.startedAt + rule.windowMs) {
        windows.delete(who);
        window = { who, startedAt: now, used: 0 };
        windows.set(who, window);
        const [oldest] = windows.keys();
        if (windows.size > mostWindows && oldest !== undefined) windows.delete(oldest);
      }
      window.used += 1;
      const headers = headersOf(rule, window, now);
      if (window.used <= rule.limit) return headers;
      const text = "Too many requests. Wait as long as the Retry-After header specifies.";
      throw new ApiError(429, "rate_limited", text, {
        headers: { ...headers, "Retry-After": retryAfter(rule, window, now) },
      });
    },
  };
}

export type RateLimit = ReturnType<typeof createRateLimit>;

const endOf = (rule: RateLimitRule, window: RateWindow) => window.startedAt + rule.windowMs;

const secondsLeft = (rule: RateLimitRule, window: RateWindow, now: number) =>
  Math.max(1, Math.ceil((endOf(rule, window) - now) / 1_000));

const headersOf = (rule: RateLimitRule, window: RateWindow, now: number) => ({
  "X-RateLimit-Limit": String(rule.limit),
  "X-RateLimit-Remaining": String(Math.max(0, rule.limit - window.used)),
  "X-RateLimit-Reset": String(
    rule.reset === "epoch"
      ? Math.ceil(endOf(rule, window) / 1_000)
      : secondsLeft(rule, window, now),
  ),
});

const retryAfter = (rule: RateLimitRule, window: RateWindow, now: number) =>
  rule.retryAfter === "seconds"
    ? String(secondsLeft(rule, window, now))
    : new Date(Math.ceil(endOf(rule, window) / 1_000) * 1_000).toUTCString();

/** Returns the headers of an exhausted limit of one request, in the format `epoch` of A-16. */
export const usedUp = (now: number, seconds: number) => ({
  "X-RateLimit-Limit": "1",
  "X-RateLimit-Remaining": "0",
  "X-RateLimit-Reset": String(Math.ceil(now / 1_000) + seconds),
});
