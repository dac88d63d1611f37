import { assertOptions, assertValid } from "@svc-webhooks/core";
import type { RetryOptions } from "../options.js";

export interface Retry {
  readonly limit: number;
  /** Returns the delay after an attempt in milliseconds: between half of it and all of it. */
  readonly delayMs: (attempt: number) => number;
}

/** @throws ReceiverConfigError `invalid_option`, `unknown_option` */
export function resolveRetry(options: RetryOptions): Retry {
  assertOptions(options, ["limit", "firstMs", "mostMs"], "retry");
  const { limit = 20, firstMs = 1_000 } = options;
  const { mostMs = Math.max(600_000, firstMs) } = options;
  assertWhole(limit, "limit", 1, 1_000);
  assertWhole(firstMs, "firstMs", 1, 86_400_000);
  assertWhole(mostMs, "mostMs", firstMs, 86_400_000);
  return {
    limit,
    delayMs(attempt) {
      const ms = Math.min(mostMs, firstMs * 2 ** (attempt - 1));
      return Math.ceil(ms * (0.5 + Math.random() / 2));
    },
  };
}

function assertWhole(value: number, name: string, min: number, max: number): void {
  assertValid(
    Number.isInteger(value) && value >= min && value <= max,
    `retry.${name}`,
    `\`retry.${name}\` must be a whole number from ${min} to ${max}.`,
  );
}
