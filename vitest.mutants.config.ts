import { mergeConfig } from "vitest/config";
import base from "./vitest.config.js";

// What mutants are run against: the core's own tests, but for those that are about size or load.
export default mergeConfig(base, {
  test: {
    dir: "packages/core/test",
    exclude: ["**/size.test.ts", "**/load.test.ts", "**/hmac.test.ts"],
  },
});
