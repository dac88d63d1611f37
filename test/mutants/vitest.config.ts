import { defineConfig } from "vitest/config";
import base from "../base.config.js";

// What mutants are run against: the core's own tests, but for those that are about size or load.
// Not by `dir`, which Stryker sets itself: other tests reach `#hmac` through what was built.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["packages/core/test/**/*.test.ts"],
    exclude: ["**/size.test.ts", "**/load.test.ts"],
  },
});
