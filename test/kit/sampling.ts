import type { TestRunner } from "@svc-webhooks/testing/adapter";
import { sized } from "./sized.js";

/**
 * Returns a runner that registers every n-th of a contract's cases whose titles match, and all others. If
 * `SVC_SUITE=full`, it registers all cases. `offset` determines which cases are the n-th ones.
 */
export function sampling(
  { describe, it: register }: TestRunner,
  n: number,
  { pattern = /^/, offset = 0 } = {},
): TestRunner {
  const step = sized(n, 1);
  let matching = offset;
  return {
    describe,
    it(title, run) {
      if (pattern.test(title) && (matching += 1) % step !== 0) return;
      register(title, run);
    },
  };
}
