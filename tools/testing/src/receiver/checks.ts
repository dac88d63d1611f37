import { assertValid } from "@svc-webhooks/core/adapter";

export const assertTimeout = (timeoutMs: number): void =>
  assertValid(
    Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= 60_000,
    "timeoutMs",
    "`timeoutMs` must be an integer from 1 to 60,000.",
  );
