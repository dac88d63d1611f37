import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../../base.config.js";

/** The tests that `pg-boss.matrix.ts` runs on a Node that pg-boss supports. */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL("../../..", import.meta.url)),
  test: {
    ...base.test,
    include: ["test/pg-boss/engine/*.engine.ts"],
    isolate: false,
    // One test is a seed of 1,000 events.
    testTimeout: 1_800_000,
  },
});
