import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { filesOf, filesWithSizes } from "../suites.js";

/**
 * The suites that send thousands of events among processes that are killed and frozen and lose their
 * connections, seed by seed, and the loads of `npm test` in full.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    maxConcurrency: 4,
    include: [...filesOf("chaos"), ...filesWithSizes()],
    env: { TEST_SIZE: "full" },
    // One test is a seed of 5,000 events, or 200 kills of the sandbox.
    testTimeout: 1_800_000,
  },
});
