import { assertOptions } from "@svc-webhooks/core";
import { assertWhole } from "./assert-whole.js";
import type { RetryOptions } from "./options.js";

export interface Retry {
  readonly limit: number;
  /** Returns the delay after an attempt in milliseconds: between half of the longest and all of it. */
  readonly delayMs: (attempt: number) => number;
}

/** @throws ReceiverConfigError `invalid_option`, `unknown_option` */
export function resolveRetry(options: RetryOptions): Retry {
  assertOptions(options, ["limit", "firstMs", "mostMs"], "retry");
  const { limit = 20, firstMs = 1_000 } = options;
  const { mostMs = Math.max(600_000, firstMs) } = options;
  assertWhole(limit, "retry.limit", 1, 100);
  assertWhole(firstMs, "retry.firstMs", 1, 43_200_000);
  assertWhole(mostMs, "retry.mostMs", firstMs, 43_200_000);
  return {
    limit,
    delayMs(attempt) {
      const ms = Math.min(mostMs, firstMs * 2 ** (attempt - 1));
      return Math.ceil(ms * (0.5 + Math.random() / 2));
    },
  };
}
