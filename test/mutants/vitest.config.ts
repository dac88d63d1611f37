import { defineConfig } from "vitest/config";
import base from "../base.config.js";

// Mutants run against the core's own tests, except those of size or load.
// `dir` is not used to select them, because Stryker sets it itself: other tests reach `#hmac` through the
// build.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["packages/core/test/**/*.test.ts"],
    exclude: ["**/size.test.ts"],
  },
});
