import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../base.config.js";

const source = (entry: string) =>
  fileURLToPath(new URL(`../../packages/core/src/${entry}.ts`, import.meta.url));

// Mutants run against the core's own tests, except those of size or load, and against those of the inbox in memory.
// `dir` is not used to select them, because Stryker sets it itself: other tests reach `#hmac` through the
// build.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    // The inbox in memory consists of the core's parts for engines. All else that tests use is the build.
    alias: {
      "@svc-webhooks/core/engine": source("engine"),
      "@svc-webhooks/core/inbox": source("inbox"),
    },
    include: [
      "packages/core/test/**/*.test.ts",
      "test/contracts/inboxes.test.ts",
      "tools/testing/test/memory-inbox.test.ts",
    ],
    exclude: ["**/size.test.ts"],
  },
});
