import { defineConfig } from "vitest/config";
import base from "../base.config.js";
import { projectsOf } from "../projects.js";
import { filesOf, filesThatUseKinds } from "../suites.js";

export const chaosFiles: readonly string[] = [...filesOf("chaos"), ...filesThatUseKinds()];

export const chaosSettings = {
  maxConcurrency: 4,
  env: { TEST_KINDS: "others" },
  // One test is a seed of 5,000 events, or 200 kills of the sandbox.
  testTimeout: 1_800_000,
};

/**
 * Configures the suites that send events among processes that are killed and frozen and lose their connections, and the
 * contracts of `npm test` for the other kinds of clients. With `SVC_SUITE=full`, they send thousands of events, seed by
 * seed.
 */
export default defineConfig({
  ...base,
  test: { ...base.test, ...chaosSettings, projects: projectsOf(chaosFiles) },
});
